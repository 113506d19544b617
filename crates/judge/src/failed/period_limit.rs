//! Limits on the number of requests per period, such as 2,000 requests per 10 s. At the beginning of each period, the
//! server answers requests until their number reaches the limit. The server refuses all other requests until the next
//! period begins.
//!
//! A window that is much shorter than the period sees only good answers, or only refusals. The record of the whole run
//! shows the period. Good answers come in bursts that begin at equal intervals, and each burst has the same number of
//! good answers. Over a long time, the server gives one burst per period, however fast the burst is.

mod bursts;
pub(crate) mod hold;
#[cfg(test)]
pub(crate) mod tests;

use run::number::span;
use run::{Interval, Run, TENTH_S};

use self::bursts::{Burst, Part, bursts, record};
use super::failed_stretch::FailedStretch;
use super::refusals::mostly;
use crate::context::single::refused;
use crate::number::{counted, median, rate};
use crate::thresholds::{BURST_TIME, BURSTS_ALIKE, FEWEST_IN_BURST, REFUSED};

/// Limit on the number of requests per period, as the record of a run shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PeriodLimit {
    /// Number of good answers in each period.
    pub(crate) requests: f64,
    /// Least and largest number of good answers in a period that was seen from its beginning to the refusals.
    counts: Interval,
    /// Length of a period, seconds. The upper end is infinite if only one period began during the run.
    period_s: Interval,
    /// Number of bursts that ended in refusals and show the limit.
    pub(crate) bursts: usize,
    /// True if at least half of the refusals have a status that names a limit on requests, such as 429.
    pub(crate) is_named: bool,
}

impl PeriodLimit {
    /// Finds the limit in the record of a run. Returns `None` if no refusals follow bursts of good answers, or if the
    /// bursts differ in number or do not begin at equal intervals. `stretch` is the stretch of the run in which every
    /// request failed.
    pub(crate) fn of(run: &Run, stretch: Option<&FailedStretch<'_>>) -> Option<Self> {
        let refusing: Vec<_> = run.trials.iter().filter(|trial| refused(trial) >= REFUSED).collect();
        if refusing.is_empty() || mostly(&refusing, run::is_overload) == Some(false) {
            return None;
        }
        let is_named = mostly(&refusing, run::is_rate_limit) == Some(true);
        let record = record(run)?;
        let bursts = bursts(&record);
        // If refusals follow a single burst, the load may have caused them.
        let is_by_time = bursts.len() > 1 || stretch.is_some_and(|stretch| stretch.is_limited);
        let at_least = || Self::at_least(&bursts, &record).filter(|_| is_named && is_by_time);
        let found = Self::of_periods(&bursts).or_else(at_least)?;
        found.agrees(&bursts).then_some(Self { is_named, ..found })
    }

    /// Finds the limit if at least two periods began during the run.
    fn of_periods(bursts: &[Burst]) -> Option<Self> {
        let openings: Vec<Interval> = bursts.iter().filter_map(|burst| burst.opening).collect();
        let between = |from: &Interval, to: &Interval| Interval { low: to.low - from.high, high: to.high - from.low };
        let gaps: Vec<Interval> = openings.windows(2).map(|pair| between(&pair[0], &pair[1])).collect();
        let shortest = gaps.iter().map(middle).reduce(f64::min).filter(|shortest| *shortest > 0.0)?;
        // A period in which too few requests came to be refused has no visible end, so a gap may have several periods.
        let periods = |gap: &Interval| (middle(gap) / shortest).round().max(1.0);
        let all: f64 = gaps.iter().map(periods).sum();
        let whole = between(openings.first()?, openings.last()?);
        let each = gaps.iter().map(|gap| (*gap, periods(gap))).chain([(whole, all)]);
        let period_s = each.map(|(gap, n)| Interval { low: gap.low / n, high: gap.high / n }).reduce(both)?;
        let single = bursts.windows(2).filter(|pair| {
            pair[0].opening.zip(pair[1].opening).is_some_and(|(from, to)| periods(&between(&from, &to)) <= 1.0)
        });
        let counts: Vec<f64> = single.map(|pair| pair[0].good).collect();
        Self::new(&counts, bursts, period_s).filter(|_| period_s.low > 0.0 && period_s.low <= period_s.high)
    }

    /// Finds the limit if at most one period began during the run. In this case, a period is at least as long as the
    /// longest part of a period that the run shows. Nothing shows that periods repeat, so only a status that names the
    /// limit confirms it.
    fn at_least(bursts: &[Burst], record: &[Part]) -> Option<Self> {
        let until_s = record.last()?.to_s;
        let seen_s = match bursts {
            [only] => until_s - only.from_s,
            [first, second] => {
                second.opening.map(|opening| (opening.low - first.from_s).max(until_s - opening.high))?
            }
            _ => return None,
        };
        let last = bursts.last().filter(|_| bursts.iter().all(|burst| burst.is_used_up))?;
        let is_mostly_refused = last.until_s - last.from_s < BURST_TIME * seen_s;
        let period_s = Interval { low: seen_s, high: f64::INFINITY };
        Self::new(&[last.good], bursts, period_s).filter(|_| is_mostly_refused)
    }

    /// Makes the limit from the numbers of good answers in whole periods. Returns `None` unless the only burst, or two
    /// bursts that ended in refusals, have this number of good answers.
    fn new(counts: &[f64], bursts: &[Burst], period_s: Interval) -> Option<Self> {
        let requests = median(counts.to_vec())?;
        let is_near = |count: &f64| (count / requests - 1.0).abs() <= BURSTS_ALIKE;
        let used_up = bursts.iter().filter(|burst| burst.is_used_up).map(|burst| burst.good).filter(is_near);
        let used_up: Vec<f64> = used_up.collect();
        let ends = used_up.iter().map(|count| Interval { low: *count, high: *count }).reduce(around)?;
        let is_enough = used_up.len() >= bursts.len().min(2);
        let is_found = is_enough && counts.iter().all(is_near) && requests >= FEWEST_IN_BURST as f64;
        is_found.then_some(Self { requests, counts: ends, period_s, bursts: used_up.len(), is_named: false })
    }

    /// Returns true if no burst contradicts this limit on requests per period. A server with such a limit refuses
    /// nothing before the number of requests reaches the limit. The first burst of the run may be shorter, because its
    /// period began before the run.
    fn agrees(&self, bursts: &[Burst]) -> bool {
        let is_too_short = |burst: &Burst| {
            burst.opening.is_some() && burst.is_used_up && burst.good < (1.0 - BURSTS_ALIKE) * self.requests
        };
        let is_too_long = |pair: &[Burst]| {
            let gap = pair[0].opening.zip(pair[1].opening).map(|(from, to)| middle(&to) - middle(&from));
            let periods = gap.map(|gap_s| (gap_s / middle(&self.period_s)).round().max(1.0));
            periods.is_some_and(|periods| pair[0].good > (1.0 + BURSTS_ALIKE) * periods * self.requests)
        };
        let good: f64 = bursts.iter().map(|burst| burst.good).sum();
        let stray: f64 = bursts.iter().map(|burst| burst.stray).sum();
        stray <= REFUSED * good && !bursts.iter().any(is_too_short) && !bursts.windows(2).any(is_too_long)
    }

    /// Returns true if the length of the period is known, and not only that it is at least so long.
    pub(crate) fn is_known(&self) -> bool {
        self.period_s.high.is_finite()
    }

    /// Returns the length of the period, seconds: a whole number of seconds or of tenths, if one agrees with the
    /// record. Returns the least possible length if the length is not known.
    pub(crate) fn period_s(&self) -> f64 {
        if !self.is_known() {
            return self.period_s.low;
        }
        let (Interval { low, high }, middle) = (self.period_s, middle(&self.period_s));
        let whole = [1.0, TENTH_S].map(|step_s: f64| (middle / step_s).round() * step_s);
        whole.into_iter().find(|whole| *whole > 0.0 && (low..=high).contains(whole)).unwrap_or(middle)
    }

    /// Returns the rate of good answers over a long time, requests per second. If the length of the period is not
    /// known, the rate is at most this rate.
    pub(crate) fn rate(&self) -> f64 {
        self.requests / self.period_s()
    }

    /// Returns the interval of the rate, requests per second.
    pub(crate) fn rates(&self) -> Interval {
        let rate = self.rate();
        let (low, high) = (self.counts.low / self.period_s.high, self.counts.high / self.period_s.low);
        Interval { low: low.min(rate), high: high.max(rate) }
    }

    /// Describes the limit: `2,000 requests per 10 s`.
    pub(crate) fn text(&self) -> String {
        let at_least = if self.is_known() { "" } else { "at least " };
        format!("{} per {at_least}{}", counted(self.requests, "request"), span(self.period_s()))
    }

    /// Describes the rate over a long time: `200/s`, or `at most 200/s`.
    pub(crate) fn rate_text(&self) -> String {
        let at_most = if self.is_known() { "" } else { "at most " };
        format!("{at_most}{}", rate(self.rate()))
    }
}

/// Returns the middle of an interval. Returns the lower end if there is no upper end.
fn middle(interval: &Interval) -> f64 {
    if interval.high.is_finite() { f64::midpoint(interval.low, interval.high) } else { interval.low }
}

/// Returns the part that two intervals share. The result is empty (`low` above `high`) if they share nothing.
fn both(a: Interval, b: Interval) -> Interval {
    Interval { low: a.low.max(b.low), high: a.high.min(b.high) }
}

/// Returns the smallest interval that contains two intervals.
fn around(a: Interval, b: Interval) -> Interval {
    Interval { low: a.low.min(b.low), high: a.high.max(b.high) }
}
