//! Rare slow answers: a second peak of the response times that does not depend on the load. For example, 1.5 % of the
//! answers take 400 ms, also with one client, because they miss a cache or wait for a timer. No queue makes these
//! answers slow, so neither more nor less load changes them.

use std::time::Duration;

use run::{BreachKind, Hist, Limits, SummaryFigure, Trial};

use crate::context::single::{good, highest_rate};
use crate::estimate::objective::breach;
use crate::number::{duration, percent, positive, ratio};
use crate::thresholds::{FAR_SLOWER, FEWEST_SLOW, MUCH_LOWER, NOTICED_US, REFUSED, TREND_SURE, WIDE};

/// Slow answers of a server, which are as frequent and as slow under any load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RareSlow {
    /// Share of the answers that are slow, 0 to 1.
    pub(crate) share: f64,
    /// Mean time of the slow answers, microseconds.
    pub(crate) us: f64,
    /// Answers count as slow if they take longer than this time, microseconds.
    beyond_us: f64,
}

impl RareSlow {
    /// Finds slow answers in the light loads, which have at most half of the highest rate. At such rates, hardly any
    /// request waits. If the light loads show no slow answers of this kind, uses all loads. If requests queued in the
    /// heavier loads, slow answers would be more frequent there.
    pub(crate) fn of(loads: &[&Trial], limits: &Limits) -> Option<Self> {
        let most = highest_rate(loads.iter().copied());
        let mut all = loads.to_vec();
        all.sort_by(|a, b| good(a).total_cmp(&good(b)));
        let light = all.partition_point(|trial| good(trial) <= MUCH_LOWER * most);
        [&all[..light], &all[..]].into_iter().find_map(|loads| Self::among(loads, limits))
    }

    /// Finds slow answers in loads, which are ordered by their rates. Answers are slow if they take many times as long
    /// as usual answers, and exceed a limit of the objective or a delay that a person notices. Returns `None` if the
    /// slow answers are rarer than the exceeded limit allows, or depend on the load.
    fn among(loads: &[&Trial], limits: &Limits) -> Option<Self> {
        let allowed = |figure: SummaryFigure| figure.share_above().unwrap_or(REFUSED);
        let bounds = [
            (limits.p99_us, allowed(SummaryFigure::P99)),
            (limits.p99_9_us, allowed(SummaryFigure::P999)),
            (Some(NOTICED_US), REFUSED),
        ];
        // Histograms are added up only if some answer took longer than one of the bounds.
        let slowest_us = loads.iter().map(|trial| trial.latency_us.max).fold(0.0, f64::max);
        let bounds = bounds.into_iter().filter_map(|(us, allowed)| Some((us?, allowed)));
        let bounds: Vec<(f64, f64)> = bounds.filter(|(us, _)| *us < slowest_us).collect();
        if bounds.is_empty() {
            return None;
        }
        let (lighter, heavier) = loads.split_at(loads.len() / 2);
        let (lighter, heavier) = (response_times(lighter), response_times(heavier));
        let far_us = FAR_SLOWER * positive(lighter.quantile_us(SummaryFigure::P50.share()?))?;
        bounds.into_iter().filter(|(us, _)| *us >= far_us).find_map(|bound| alike(&lighter, &heavier, bound))
    }

    /// Returns true if the slow answers explain why a trial missed a limit on a percentile. The slow answers must be
    /// the answers beyond this limit, and must be no more frequent in the trial than under light loads.
    pub(crate) fn explains(&self, trial: &Trial, limits: &Limits) -> bool {
        let is_percentile = |kind| matches!(kind, BreachKind::P99 | BreachKind::P999);
        let missed = breach(trial, limits).filter(|breach| is_percentile(breach.kind));
        let is_same = missed.and_then(|breach| breach.limit) == Some(self.beyond_us);
        let is_as_frequent = |times: &Hist| {
            let seen = Slow::of(times, self.beyond_us);
            let chance = TREND_SURE * (self.share * (1.0 - self.share) / seen.of.max(1.0)).sqrt();
            seen.share() - self.share <= chance
        };
        is_same && trial.histograms.get("response").is_none_or(is_as_frequent)
    }

    /// Describes the slow answers: `1.5 % of the answers take about 400 ms at any load`.
    pub(crate) fn text(&self) -> String {
        format!(
            "{} of the answers take about {} at any load, also with one client",
            percent(self.share),
            duration(self.us)
        )
    }
}

/// Slow answers in a histogram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slow {
    count: f64,
    /// Number of all answers.
    of: f64,
    /// Sum of the times of the slow answers, microseconds.
    pub(super) sum_us: f64,
}

impl Slow {
    /// Counts the answers that took longer than `beyond_us` microseconds.
    pub(super) fn of(times: &Hist, beyond_us: f64) -> Self {
        let us = |ns: u64| Duration::from_nanos(ns).as_secs_f64() * 1e6;
        let slow =
            times.recorded().into_iter().map(|(ns, count)| (us(ns), count as f64)).filter(|(us, _)| *us > beyond_us);
        let (count, sum_us) = slow.fold((0.0, 0.0), |sum, (us, count)| (sum.0 + count, sum.1 + us * count));
        Self { count, of: times.len() as f64, sum_us }
    }

    /// Returns the share of the slow answers, 0 to 1.
    pub(super) fn share(&self) -> f64 {
        ratio(self.count, self.of).unwrap_or(0.0)
    }

    /// Returns the sum of the times by which slow answers exceed `limit_us`, microseconds.
    pub(super) fn excess_us(&self, limit_us: f64) -> f64 {
        (self.sum_us - self.count * limit_us).max(0.0)
    }

    fn mean_us(&self) -> Option<f64> {
        ratio(self.sum_us, self.count)
    }
}

/// Returns the slow answers beyond a limit, if they are as frequent and as slow in both halves of the light loads.
fn alike(lighter: &Hist, heavier: &Hist, (beyond_us, allowed): (f64, f64)) -> Option<RareSlow> {
    let (a, b) = (Slow::of(lighter, beyond_us), Slow::of(heavier, beyond_us));
    let all = Slow { count: a.count + b.count, of: a.of + b.of, sum_us: a.sum_us + b.sum_us };
    let share = all.share();
    let chance = TREND_SURE * (share * (1.0 - share) * (1.0 / a.of + 1.0 / b.of)).sqrt();
    let slower = ratio(a.mean_us()?, b.mean_us()?)?;
    let is_alike = (a.share() - b.share()).abs() <= chance && slower.max(1.0 / slower) < WIDE;
    let is_seen = all.count >= FEWEST_SLOW as f64 && share > allowed;
    (is_alike && is_seen).then_some(RareSlow { share, us: all.mean_us()?, beyond_us })
}

/// Returns the response times of all good answers of several trials.
fn response_times(trials: &[&Trial]) -> Hist {
    let mut all = Hist::new();
    trials.iter().filter_map(|trial| trial.histograms.get("response")).for_each(|times| all.merge(times));
    all
}

#[cfg(test)]
mod tests {
    use run::{Trial, TrialKind};

    use super::*;
    use crate::planted::{PlantedRun, Point};

    /// Number of answers of each made-up load.
    const ANSWERS: f64 = 4000.0;

    /// Writes the times of a trial: `share` of the answers take `slow_us` microseconds, and the others `usual_us`.
    fn times(trial: &mut Trial, usual_us: f64, (share, slow_us): (f64, f64)) {
        let mut hist = Hist::new();
        let slow = (share * ANSWERS).round() as u64;
        hist.record_many_ns((usual_us * 1e3) as u64, ANSWERS as u64 - slow);
        // The slow answers take between three quarters and five quarters of the time.
        for i in 0..slow {
            hist.record_ns((slow_us * 1e3 * (0.75 + 0.5 * i as f64 / slow as f64)) as u64);
        }
        trial.latency_us = run::Summary::of(&hist);
        trial.measured.tally.completed = ANSWERS as u64;
        trial.histograms.insert("response".into(), hist);
    }

    /// Makes the run of a server that answers 98.5 % of the requests after 1 ms, and the others after 400 ms. `share`
    /// returns the share of slow answers. Throughput grows with the clients.
    fn with_share(share: fn(&Point) -> f64) -> PlantedRun {
        let change = move |t: &mut Trial, p: &Point| times(t, 1000.0, (share(p), 400_000.0));
        PlantedRun::new(7000.0, 30_000.0).rates(&[0.3, 0.5]).change(change)
    }

    /// An earlier version of loadline named waiting goroutines as the limit, because throughput seemed to stop growing
    /// in the sweep.
    #[test]
    fn rare_slow_answers_that_do_not_depend_on_the_load_are_told_and_limit_nothing() {
        let any_load = with_share(|_| 0.015);
        let found = any_load.verdict();
        assert_eq!(found.id, "not-saturated", "{found:#?}");
        assert!(found.sentence.contains("1.50 % of the answers take about 398 ms at any load"), "{}", found.sentence);
        assert!(found.advice[0].starts_with("Send more load"), "{:?}", found.advice);
        let limited = with_share(|_| 0.015).plan(|plan| plan.objective.p99_us = Some(100_000.0));
        let found = limited.verdict();
        assert!(found.id == "not-saturated" && found.sentence.contains("at any load"), "{found:#?}");
        assert!(found.advice[0].contains("slow without load"), "{:?}", found.advice);
    }

    /// With many clients, the slow answers become more frequent, so a queue causes them.
    #[test]
    fn slow_answers_that_grow_with_the_load_are_no_second_peak() {
        let run = with_share(|p| if p.x > 2000.0 { 0.2 } else { 0.01 }).run();
        let found = crate::Facts::of(&run);
        assert_eq!(found.rare_slow, None, "{:?}", found.rare_slow);
        let none = with_share(|_| 0.0).verdict();
        assert!(!none.sentence.contains("at any load"), "{none:#?}");
    }

    /// A server of four workers answers each request after 20 ms. Only requests that wait in the server's queue get
    /// slow answers.
    #[test]
    fn a_queue_makes_no_second_peak() {
        let queue = |t: &mut Trial, p: &Point| times(t, p.r_us, (0.0, 0.0));
        let found = PlantedRun::new(20_000.0, 200.0).change(queue).verdict();
        assert_eq!(found.id, "server-concurrency", "{found:#?}");
    }

    /// In a window of 0.5 s, one client gets 70 answers, one of which takes 400 ms. The rates of two such loads differ
    /// by chance, and a sweep of such loads may seem to stop growing.
    #[test]
    fn a_sweep_of_short_loads_with_rare_slow_answers_stops_growing_only_by_chance() {
        let short = |t: &mut Trial, p: &Point| {
            times(t, 1000.0, (0.015, 400_000.0));
            if t.kind == TrialKind::Sweep {
                t.rates.completed_rate = 140.0 * p.n.min(2.0);
                t.measured.tally.completed = 140;
            }
        };
        let found = PlantedRun::new(7000.0, 1e9).steps(&[1, 2, 4, 8]).rates(&[]).change(short).verdict();
        assert_ne!(found.id, "server-concurrency", "{found:#?}");
        assert!(found.sentence.contains("at any load"), "{}", found.sentence);
    }
}
