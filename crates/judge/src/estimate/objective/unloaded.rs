//! Usual response time without load, from which the default objective is derived.
//!
//! The usual response time is the median, which depends least on pauses of the machine. If response times differ widely
//! (such as 20 ms from a cache and 200 ms from a database), small changes of the shares make the median jump. A limit
//! that depends on the median would therefore depend on chance. For widely different response times, the usual one is
//! the mean of the quickest nine tenths of the answers, which hardly changes with the shares.

use std::time::Duration;

use run::{Hist, SummaryFigure, Trial};

use crate::context::single::responses;
use crate::context::sweep::lightest;
use crate::number::{positive, ratio};
use crate::thresholds::{FEWEST_REQUESTS, WIDE};

/// Usual response time without load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unloaded {
    /// Usual response time, microseconds.
    pub(super) us: f64,
    /// True if response times differ so widely that the mean is used instead of the median.
    pub(super) is_mean: bool,
}

impl Unloaded {
    /// Returns the usual response time of the two lightest of `steps`. Another program may have disturbed one of the
    /// two steps, so the smaller time is returned.
    pub(super) fn of(steps: &[&Trial]) -> Option<Self> {
        let first = lightest(steps)?;
        let rest: Vec<&Trial> = steps.iter().copied().filter(|t| !std::ptr::eq(*t, first)).collect();
        let lightest: Vec<&Trial> = [Some(first), lightest(&rest)].into_iter().flatten().collect();
        let medians = lightest.iter().filter_map(|t| positive(t.latency_us.p50));
        let median = Self { us: medians.min_by(f64::total_cmp)?, is_mean: false };
        Some(Self::mean(&lightest).unwrap_or(median))
    }

    /// Returns the mean of the quickest answers if response times differ widely in one of the steps. The answers of
    /// steps with few answers are added up, because the mean of a few answers depends on chance.
    fn mean(steps: &[&Trial]) -> Option<Self> {
        if !steps.iter().any(|step| differs_widely(step)) {
            return None;
        }
        let times: Vec<&Hist> = steps.iter().filter_map(|step| responses(step)).collect();
        let enough = times.iter().filter(|times| times.len() >= FEWEST_REQUESTS);
        let least = enough.filter_map(|times| quick_mean_us(times)).min_by(f64::total_cmp);
        let all = || {
            let mut all = Hist::new();
            times.iter().for_each(|times| all.merge(times));
            quick_mean_us(&all)
        };
        Some(Self { us: least.or_else(all)?, is_mean: true })
    }
}

/// Returns true if the median of a trial's response times is far from the mean of its quickest answers.
fn differs_widely(trial: &Trial) -> bool {
    let times = responses(trial).and_then(quick_mean_us).zip(positive(trial.latency_us.p50));
    let apart = times.and_then(|(mean, median)| ratio(mean, median));
    apart.is_some_and(|apart| apart.max(1.0 / apart) >= WIDE)
}

/// Returns the mean of the quickest nine tenths of the answers, microseconds. The slowest tenth may be late because the
/// machine paused.
fn quick_mean_us(times: &Hist) -> Option<f64> {
    let all = SummaryFigure::P90.share()? * times.len() as f64;
    let (mut left, mut sum_s) = (all, 0.0);
    for (ns, count) in times.recorded() {
        let counted = left.min(count as f64);
        (left, sum_s) = (left - counted, sum_s + counted * Duration::from_nanos(ns).as_secs_f64());
    }
    ratio(sum_s * 1e6, all).and_then(positive)
}
