//! Schedules, which set the rate of arrivals over time: a rate that changes in stages, or recorded times.
//!
//! An arrival process with a constant rate gives the time of each request. Such a time, multiplied by the rate, is the
//! number `n` of requests until then. A schedule with the rate `r(t)` makes request number `n` due at the time `t`. At
//! this time, the integral of `r` from 0 to `t` reaches `n`. The kind of arrivals (constant, Poisson or self-similar)
//! therefore stays the same, whatever the rate. (Cinlar, *Introduction to Stochastic Processes*, 1975, section 4.7.)

use std::sync::Arc;

use run::{RecordedTimes, Stage};

/// Due time that means "never", nanoseconds. This time is later than the end of any load. `NEVER_NS` is so small that
/// adding a start time to it cannot overflow.
const NEVER_NS: u64 = u64::MAX / 4;
/// Length of the windows in which recorded requests are counted to find the peak of their rate, nanoseconds.
const PEAK_WINDOW_NS: u64 = 100_000_000;

/// A part of a schedule during which the rate changes linearly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    begin_ns: f64,
    /// Number of requests that are due before the segment.
    before: f64,
    /// Rate at the start of the segment, requests per nanosecond.
    rate: f64,
    /// Change of the rate per nanosecond.
    slope: f64,
}

/// A schedule of arrivals. Cloning a schedule copies no segments and no times.
#[derive(Clone, Debug)]
pub(super) enum Schedule {
    /// Stages as segments, index of the current segment, and mean rate of all generator threads together in requests
    /// per nanosecond.
    Stages { segments: Arc<[Segment]>, on: usize, rate_ns: f64 },
    /// Recorded times in nanoseconds, and index of the next time for this generator thread. Each generator thread uses
    /// every `step`-th time.
    Recorded { at_ns: Arc<[u64]>, next: usize, step: usize },
}

impl Schedule {
    /// Creates the schedule for stages. `rate` is the mean rate of the arrival process over all generator threads,
    /// requests per second.
    pub(super) fn stages(stages: &[Stage], rate: f64) -> Self {
        let (mut begin_ns, mut before) = (0.0, 0.0);
        let mut segments: Vec<Segment> = Vec::with_capacity(stages.len() + 1);
        for stage in stages {
            let length_ns = stage.seconds * 1e9;
            let (from, to) = (stage.from / 1e9, stage.to / 1e9);
            segments.push(Segment { begin_ns, before, rate: from, slope: (to - from) / length_ns });
            begin_ns += length_ns;
            before += stage.requests();
        }
        let last = stages.last().map_or(rate, |stage| stage.to);
        segments.push(Segment { begin_ns, before, rate: last / 1e9, slope: 0.0 });
        Self::Stages { segments: segments.into(), on: 0, rate_ns: rate / 1e9 }
    }

    /// Creates the schedule for recorded times. Generator thread number `shard` of `shards` threads uses every
    /// `shards`-th time.
    pub(super) fn recorded(times: &RecordedTimes, (shard, shards): (u32, u32)) -> Self {
        let mut at_us = 0;
        let each = times.gaps_us.iter().map(|gap| {
            at_us += gap;
            ((at_us as f64 * 1e3 / times.speed) as u64).min(NEVER_NS)
        });
        Self::Recorded { at_ns: each.collect(), next: shard as usize, step: shards.max(1) as usize }
    }

    /// Converts `even_ns` to the time at which a request is due. `even_ns` is the time of the request in an arrival
    /// process with a constant rate. `even_ns` and the returned time are in nanoseconds since the start of the load.
    /// With recorded times, `even_ns` has no effect.
    #[inline]
    pub(super) fn due_ns(&mut self, even_ns: f64) -> u64 {
        match self {
            Self::Recorded { at_ns, next, step } => {
                let due = at_ns.get(*next).copied().unwrap_or(NEVER_NS);
                *next = next.saturating_add(*step);
                due
            }
            Self::Stages { segments, on, rate_ns } => {
                let count = even_ns * *rate_ns;
                while segments.get(*on + 1).is_some_and(|next| count >= next.before) {
                    *on += 1;
                }
                let segment = &segments[*on];
                let more = (count - segment.before).max(0.0);
                // Solves `rate` × x + `slope` × x² / 2 = `more` for x. This form of the solution of the quadratic
                // equation also works if the slope is 0.
                let root = (segment.rate * segment.rate + 2.0 * segment.slope * more).max(0.0).sqrt();
                let after_ns = match more > 0.0 {
                    true => 2.0 * more / (segment.rate + root),
                    // A segment whose rate begins at 0 and never grows has no arrival.
                    false if segment.rate <= 0.0 && segment.slope <= 0.0 => f64::INFINITY,
                    false => 0.0,
                };
                if after_ns.is_finite() { (segment.begin_ns + after_ns).min(NEVER_NS as f64) as u64 } else { NEVER_NS }
            }
        }
    }

    /// Returns the end of a load with recorded times, nanoseconds since the start. The load ends one mean gap (the mean
    /// time between two recorded times) after the last recorded time.
    pub(super) fn recorded_end_ns(&self) -> Option<u64> {
        let Self::Recorded { at_ns, .. } = self else { return None };
        let last = *at_ns.last().filter(|last| **last < NEVER_NS)?;
        Some(last + last / (at_ns.len() as u64 - 1).max(1))
    }

    /// Returns the ratio of the highest rate to the mean rate.
    pub(super) fn peak(&self) -> f64 {
        match self {
            Self::Stages { segments, rate_ns, .. } => {
                segments.iter().map(|segment| segment.rate).fold(0.0, f64::max) / rate_ns.max(1e-18)
            }
            Self::Recorded { at_ns, .. } => {
                let Some(last) = at_ns.last() else { return 1.0 };
                let mean = at_ns.len() as f64 / (last / PEAK_WINDOW_NS + 1) as f64;
                let most = at_ns
                    .chunk_by(|a, b| a / PEAK_WINDOW_NS == b / PEAK_WINDOW_NS)
                    .map(<[u64]>::len)
                    .max()
                    .unwrap_or(1);
                (most as f64 / mean).max(1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use run::Arrival;

    use super::super::Arrivals;
    use super::*;

    fn due(stages: &[Stage], arrival: &Arrival, within_s: f64) -> Vec<u64> {
        let seconds: f64 = stages.iter().map(|s| s.seconds).sum();
        let rate = stages.iter().map(Stage::requests).sum::<f64>() / seconds;
        let mut arrivals = Arrivals::new(arrival, rate, (0, 1), 0.0, 3).on(Schedule::stages(stages, rate));
        std::iter::from_fn(|| Some(arrivals.next_ns())).take_while(|&t| t < (within_s * 1e9) as u64).collect()
    }

    fn between(times: &[u64], from_s: f64, to_s: f64) -> usize {
        times.iter().filter(|&&t| (from_s..to_s).contains(&(t as f64 / 1e9))).count()
    }

    #[test]
    fn a_ramp_has_the_planned_rate_at_each_time() {
        let ramp = [Stage { seconds: 10.0, from: 100.0, to: 1100.0 }];
        let times = due(&ramp, &Arrival::Constant, 12.0);
        for second in 0..10 {
            let expected = 150.0 + 100.0 * f64::from(second);
            let n = between(&times, f64::from(second), f64::from(second) + 1.0) as f64;
            assert!((n - expected).abs() <= 1.0, "second {second}: {n} of {expected}");
        }
        assert!((between(&times, 10.0, 12.0) as f64 - 2200.0).abs() <= 1.0, "it stays at the last rate");
        let down = due(&[Stage { seconds: 10.0, from: 1000.0, to: 0.0 }], &Arrival::Constant, 100.0);
        assert!(down.len().abs_diff(5000) <= 1 && *down.last().unwrap() < 10_000_000_000, "{}", down.len());
    }

    #[test]
    fn steps_keep_what_the_process_is() {
        let steps = [Stage { seconds: 20.0, from: 100.0, to: 100.0 }, Stage { seconds: 20.0, from: 400.0, to: 400.0 }];
        let times = due(&steps, &Arrival::Poisson, 40.0);
        for (from, to, rate) in [(0.0, 20.0, 100.0_f64), (20.0, 40.0, 400.0)] {
            let n = between(&times, from, to) as f64;
            assert!((n - rate * 20.0).abs() < 4.0 * (rate * 20.0).sqrt(), "{n} at {rate}/s");
            let gaps: Vec<f64> = times
                .windows(2)
                .filter(|w| (from..to).contains(&(w[0] as f64 / 1e9)))
                .map(|w| (w[1] - w[0]) as f64 * rate / 1e9)
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            assert!((variance / (mean * mean) - 1.0).abs() < 0.25, "gaps of a Poisson process: {variance} {mean}");
        }
    }

    #[test]
    fn recorded_times_are_dealt_to_the_shards_and_end() {
        let times = RecordedTimes { gaps_us: vec![0, 1000, 0, 3000, 2000], items: vec![0; 5], speed: 2.0 };
        let due_times = |shard| {
            let mut schedule = Schedule::recorded(&times, (shard, 2));
            std::iter::from_fn(|| Some(schedule.due_ns(0.0))).take_while(|&t| t < NEVER_NS).collect::<Vec<_>>()
        };
        assert_eq!((due_times(0), due_times(1)), (vec![0, 500_000, 3_000_000], vec![500_000, 2_000_000]));
        assert_eq!(times.span_s(), 0.003);
        assert_eq!(Schedule::recorded(&times, (0, 1)).peak(), 1.0);
    }
}
