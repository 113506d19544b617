//! Limits on requests in flight, and how they differ from rate limits. A limit on requests in flight (`limit_conn`, a
//! semaphore, a connection pool) keeps the rate of good answers times their response time constant. A rate limit keeps
//! the rate constant, however long answers take. If neither the rate nor the response time changes, the two kinds of
//! limits cannot be told apart.

use run::Trial;
use stats::queueing::servers_of_loss;

use super::level::{Level, are_most, highest_over_lowest};
use crate::context::single::{good, refused};
use crate::number::positive;
use crate::thresholds::{ABOVE_LIMITER, LEAST_PLACES, ONE_RATE, REFUSED, WIDE};

/// Good requests in flight in the trials with refusals (Little's law).
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    /// Numbers of good requests in flight. A request counts only for the time in which the server handles it.
    pub(crate) level: Level,
    /// True if a limit on requests in flight agrees with the trials. A server that limits how many requests it handles
    /// at the same time allows at least about one request.
    pub(crate) may_limit: bool,
    /// True if only a limit on requests in flight explains their constant number. The rates of all answers must then
    /// differ widely, and no trial without refusals may have far more requests in flight.
    pub(crate) is_kept: bool,
}

impl InFlight {
    /// Judges the requests in flight of the trials with refusals. `open` contains the trials with hardly any refusals.
    pub(super) fn of(refusing: &[&Trial], open: &[&Trial]) -> Self {
        let ranges: Vec<Range> = refusing.iter().map(|trial| Range::of(trial)).collect();
        let level = Level::of(ranges.iter().map(|range| range.low).collect());
        let near = refusing.iter().zip(&ranges).filter(|(_, range)| level.is_near(range.low));
        let is_wide = highest_over_lowest(near.map(|(trial, _)| trial.rates.completed_rate)) >= WIDE;
        let is_exceeded = open.iter().any(|trial| Range::of(trial).low > ABOVE_LIMITER * level.middle);
        let is_kept = level.constant && level.middle >= LEAST_PLACES && is_wide && !is_exceeded;
        Self { level, may_limit: may_limit(&ranges), is_kept }
    }
}

/// Range in which the server's limit on requests in flight must lie to explain one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    /// Mean number of good requests that the server handled at the same time. The limit on requests in flight is at
    /// least this number.
    low: f64,
    /// Highest limit that is compatible with the trial.
    high: f64,
}

impl Range {
    /// Returns the range in which the server's limit on requests in flight must lie to explain a trial. A good answer
    /// spends part of its time outside the workers: in the generator, the network and the accept queue. A refusal takes
    /// the same path and occupies no worker, so its time is subtracted for `low`. Arrivals are irregular, so a server
    /// already refuses requests while its mean number of requests in flight is below the limit. `high` is therefore the
    /// limit at which random arrivals would cause the measured share of refusals. If the times of a trial are unknown,
    /// the range contains all limits.
    fn of(trial: &Trial) -> Self {
        let Some((good_us, refused_us)) = times_us(trial) else { return Self { low: 0.0, high: f64::INFINITY } };
        let rate = good(trial);
        let whole = rate * good_us / 1e6;
        let low = (whole - rate * refused_us / 1e6).max(0.0);
        Self { low, high: whole.max(servers_of_loss(whole, refused(trial))) }
    }

    /// Returns true if a limit is compatible with the trial, within the error of the measurement.
    fn agrees(&self, limit: f64) -> bool {
        self.low <= (1.0 + ONE_RATE) * limit && self.high >= (1.0 - ONE_RATE) * limit
    }
}

/// Returns the mean times of good answers and of refusals, microseconds. The time of refusals is 0 without histograms
/// or without refusals. Returns `None` if the histograms do not separate good answers from refusals, as in runs of
/// older versions of loadline.
fn times_us(trial: &Trial) -> Option<(f64, f64)> {
    if trial.histograms.is_empty() {
        return Some((positive(trial.latency_us.mean)?, 0.0));
    }
    let mean_us = |name: &str| trial.histograms.get(name).filter(|hist| !hist.is_empty()).map(run::Hist::mean_us);
    let refused_us = if refused(trial) < REFUSED { Some(0.0) } else { mean_us("refused") };
    mean_us("response").zip(refused_us)
}

/// Returns true if one limit on requests in flight explains at least two thirds of the trials. No trial may have far
/// more requests in flight than this limit.
fn may_limit(ranges: &[Range]) -> bool {
    let agrees = |limit: f64| {
        let near = ranges.iter().filter(|range| range.agrees(limit)).count();
        are_most(near, ranges.len()) && ranges.iter().all(|range| range.low <= ABOVE_LIMITER * limit)
    };
    // The number of trials that are compatible with a limit changes only at the ends of their ranges.
    let ends = ranges.iter().flat_map(|range| [range.low, range.high]);
    let each = ends.flat_map(|end| [end / (1.0 + ONE_RATE), end, end / (1.0 - ONE_RATE)]);
    let mut limits = each.filter(|limit| limit.is_finite()).map(|limit| limit.max(LEAST_PLACES));
    ranges.iter().all(|range| range.high.is_infinite()) || limits.any(agrees)
}

#[cfg(test)]
mod tests;
