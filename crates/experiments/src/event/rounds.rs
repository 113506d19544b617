//! Rounds of a sweep whose load goes through the proxy. This module decides how many calls are timed at each point, and
//! which rounds are valid.

use std::time::{Duration, Instant};

use serve::Timings;
use sys::tsc::Calibration;

use super::bench::{Amount, Timing};
use crate::Parameters;

/// Largest array size (maximum number of events per call) in figure 6 of Banga, Mogul and Druschel.
const SOURCE_ARRAY: usize = 10;
/// Number of additional rounds for points of the paper that have too few calls after the usual rounds, because some
/// rounds were rejected or slow.
const MORE_ROUNDS: u32 = 2;

/// Timed calls of several rounds at one point of a sweep. A round is rejected if one of its calls would have blocked,
/// because the proxy was then not saturated. If all rounds are rejected, their calls are used anyway, and the point is
/// marked as not saturated.
#[derive(Default)]
pub(super) struct Rounds {
    good: Vec<(u64, u32)>,
    spare: Vec<(u64, u32)>,
    pub(super) rejected_rounds: usize,
    blocked: u64,
}

impl Rounds {
    pub(super) fn add(&mut self, found: Timings) {
        self.blocked += found.rejected;
        if found.rejected > 0 {
            self.rejected_rounds += 1;
            self.spare.extend(found.calls);
        } else {
            self.good.extend(found.calls);
        }
    }

    /// Returns true if there was a round in which no call would have blocked.
    pub(super) fn saturated(&self) -> bool {
        !self.good.is_empty()
    }

    /// Returns the number of calls in rounds that were not rejected.
    pub(super) fn calls(&self) -> usize {
        self.good.len()
    }

    pub(super) fn timing(&self, clock: &Calibration) -> Timing {
        let calls = if self.saturated() { &self.good } else { &self.spare };
        let events = calls.iter().map(|c| c.1 as usize).sum();
        Timing::of(calls.iter().map(|c| c.0).collect(), events, self.blocked as usize, clock)
    }
}

/// Parameters of a sweep whose load goes through the proxy.
pub(super) struct Sweep {
    arrays: Vec<usize>,
    pub(super) clients: Vec<u32>,
    pub(super) rounds: u32,
    pub(super) more: u32,
    /// Number of calls to time at each point.
    calls: usize,
    /// Maximum time of one round at a point. The first time in the pair applies to the array sizes in the paper, and
    /// the second time to larger array sizes.
    longest: (Duration, Duration),
    /// Maximum time of the whole sweep.
    whole: Duration,
}

impl Sweep {
    /// Returns the array sizes (maximum numbers of events per call) to measure with `clients` clients. The array sizes
    /// are all sizes up to `clients`, and the next two sizes. With the largest number of clients, all array sizes are
    /// measured.
    pub(super) fn arrays_for(&self, clients: u32) -> Vec<usize> {
        let most = self.clients.iter().all(|&other| other <= clients);
        let mut above = 0;
        let wanted = |array: &&usize| {
            above += usize::from(**array > clients as usize);
            most || above <= 2
        };
        self.arrays.iter().filter(wanted).copied().collect()
    }

    pub(super) fn of(parameters: &Parameters, calls: usize) -> Self {
        let whole = |name: &str, default: &[f64]| parameters.numbers(name, default).into_iter().map(|v| v.max(1.0));
        let rounds = parameters.count("rounds", 3).max(1);
        let wide_s = parameters.number("relay_seconds", 0.5).clamp(0.02, 60.0);
        let source_s = parameters.number("source_seconds", wide_s).clamp(0.02, 60.0);
        let of_round = |seconds: f64| Duration::from_secs_f64(seconds / f64::from(rounds));
        Self {
            arrays: whole("array_max", &[1.0, 2.0, 4.0, 8.0, 10.0, 64.0]).map(|v| v as usize).collect(),
            clients: whole("clients", &[4.0, 32.0]).map(|v| v as u32).collect(),
            rounds,
            more: MORE_ROUNDS,
            calls,
            longest: (of_round(source_s), of_round(wide_s)),
            whole: Duration::from_secs_f64(parameters.number("sweep_seconds", 150.0).clamp(0.1, 3600.0)),
        }
    }

    /// Returns the number of calls to time in round number `round`, at a point at which `have` calls were already
    /// timed. Returns `None` if the point needs no more calls. Array sizes above those of the paper get no additional
    /// rounds.
    pub(super) fn amount(&self, array: usize, round: u32, have: usize) -> Option<Amount> {
        let (source, wide) = self.longest;
        let own = array <= SOURCE_ARRAY;
        let rounds_left = self.rounds.saturating_sub(round).max(1) as usize;
        let calls = self.calls.saturating_sub(have).div_ceil(rounds_left);
        let wanted = calls > 0 && (own || round < self.rounds);
        wanted.then_some(Amount { calls, at_most: if own { source } else { wide } })
    }

    /// Returns the planned time of the sweep over `backends` backends, seconds.
    pub(super) fn planned_s(&self, backends: usize) -> f64 {
        let (source, wide) = self.longest;
        let of_array = |array: &usize| if *array <= SOURCE_ARRAY { source } else { wide }.as_secs_f64();
        let of_clients = |clients: &u32| self.arrays_for(*clients).iter().map(of_array).sum::<f64>();
        let points_s = f64::from(self.rounds) * self.clients.iter().map(of_clients).sum::<f64>();
        (backends as f64 * points_s).min(self.whole.as_secs_f64())
    }

    /// Returns the time budget of the whole sweep over `backends` backends.
    pub(super) fn budget(&self, backends: usize) -> TimeBudget {
        let points: usize = self.clients.iter().map(|&clients| self.arrays_for(clients).len()).sum();
        let measures = u32::try_from(points * backends).unwrap_or(u32::MAX).saturating_mul(self.rounds);
        TimeBudget { until: Instant::now() + self.whole, share: self.whole / 2 / measures.max(1), left: measures }
    }
}

/// Time budget of a sweep, so that the experiment takes only minutes. Half of the time budget is divided equally among
/// all measurements. Measurements that need more time get the other half of the time budget, in the order in which they
/// are made.
pub(super) struct TimeBudget {
    until: Instant,
    share: Duration,
    left: u32,
}

impl TimeBudget {
    /// Returns `wanted`, with its time reduced to the time that the budget still allows.
    pub(super) fn take(&mut self, wanted: Amount) -> Amount {
        self.left = self.left.saturating_sub(1);
        let free = self.until.saturating_duration_since(Instant::now()).saturating_sub(self.share * self.left);
        Amount { at_most: wanted.at_most.min(free.max(self.share)), ..wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(sweep_seconds: f64) -> Sweep {
        let text = format!(
            "[lab]\narray_max = [2, 10, 64]\nclients = [32]\nrounds = 3\nrelay_seconds = 1.2\nsource_seconds = 3.0\n\
             sweep_seconds = {sweep_seconds:?}\n"
        );
        let mut plan = run::Plan::from_toml("x.toml", &text).unwrap();
        Sweep::of(&Parameters::of(&mut plan, false), 10_000)
    }

    #[test]
    fn a_point_is_measured_until_it_has_enough_calls() {
        let sweep = sweep(100.0);
        let calls = |round, have| sweep.amount(10, round, have).map(|amount| amount.calls);
        assert_eq!((calls(0, 0), calls(1, 0), calls(1, 3334)), (Some(3334), Some(5000), Some(3333)));
        assert_eq!((calls(2, 10_000), calls(3, 9_000), calls(4, 9_000)), (None, Some(1000), Some(1000)));
        assert!(
            sweep.amount(64, 2, 0).is_some() && sweep.amount(64, 3, 0).is_none(),
            "wide arrays get no further rounds"
        );
        let seconds = |array| sweep.amount(array, 0, 0).map(|amount| amount.at_most.as_secs_f64());
        assert_eq!((seconds(10), seconds(16)), (Some(1.0), Some(0.4)));
    }

    #[test]
    fn no_measurement_takes_time_reserved_for_others() {
        let wanted = Amount { calls: 1, at_most: Duration::from_secs(1) };
        assert_eq!(sweep(1000.0).budget(2).take(wanted).at_most, wanted.at_most, "there is enough");
        let mut poor = sweep(1.8).budget(1);
        let first = poor.take(wanted).at_most;
        assert!(first < wanted.at_most && first >= Duration::from_secs_f64(0.1), "{first:?}");
        poor.until = Instant::now();
        assert_eq!(poor.take(wanted).at_most, Duration::from_secs_f64(0.1), "its share is left to everybody");
    }
}
