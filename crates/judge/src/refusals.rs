//! Trials with refused answers, and whether the rate of good answers stayed constant in them at different offered
//! rates.

use run::Trial;

use crate::number::median_of_sorted;
use crate::single::{good, refused};
use crate::thresholds::{ABOVE_LIMITER, LONG_WINDOW, ONE_RATE, REFUSED, WIDE};

/// Refused requests of a run.
#[derive(Clone, Debug)]
pub(crate) struct Refusals<'a> {
    /// Trials with refusals whose rate of good answers is near the middle rate.
    pub(crate) trials: Vec<&'a Trial>,
    /// Lowest, middle and highest rate of good answers in these trials, 1/s.
    pub(crate) lowest: f64,
    pub(crate) middle: f64,
    pub(crate) highest: f64,
    /// True if the rate of good answers stayed constant.
    pub(crate) constant: bool,
    /// True if at least half of the refusals have a status that means "too many requests" (429 or 503). `None` if
    /// statuses were not counted.
    pub(crate) overload: Option<bool>,
    /// True if the rates of all answers in these trials differ widely, although the rates of good answers are alike.
    pub(crate) wide: bool,
}

/// Returns true if at least half of the refusals have a status that means "too many requests".
fn is_overload(trials: &[&Trial]) -> Option<bool> {
    let (mut overload, mut other) = (0, 0);
    for (status, n) in trials.iter().flat_map(|t| &t.measured.tally.unexpected_statuses) {
        let sum: &mut u64 = if run::is_overload(status) { &mut overload } else { &mut other };
        *sum = sum.saturating_add(*n);
    }
    (overload.max(other) > 0).then_some(overload >= other)
}

impl<'a> Refusals<'a> {
    pub(crate) fn of(all: impl Iterator<Item = &'a Trial>) -> Self {
        let refusing: Vec<&Trial> = all.filter(|t| refused(t) >= REFUSED && t.measured.tally.completed > 0).collect();
        // With a limit per second, a short window may see all answers of a second or none of them.
        let longest_s = refusing.iter().map(|t| t.measured.length_s).fold(0.0, f64::max);
        let is_long = |t: &Trial| t.measured.length_s >= LONG_WINDOW * longest_s;
        let mut rates: Vec<f64> = refusing.iter().filter(|t| is_long(t)).map(|t| good(t)).collect();
        rates.sort_by(f64::total_cmp);
        let at = |i: usize| rates.get(i).copied().unwrap_or(0.0);
        let (lowest, highest) = (at(0), at(rates.len().saturating_sub(1)));
        let middle = median_of_sorted(&rates).unwrap_or(0.0);
        // A disturbed trial completes less than the limit; no trial completes more.
        let is_near = |rate: f64| (rate / middle - 1.0).abs() <= ONE_RATE;
        let long_near = rates.iter().filter(|rate| is_near(**rate)).count();
        let near: Vec<&Trial> = refusing.iter().copied().filter(|t| is_near(good(t))).collect();
        let constant = middle > 0.0 && 3 * long_near >= 2 * rates.len() && highest <= ABOVE_LIMITER * middle;
        // Only trials with this rate of good answers can show that the rate stays when more requests come.
        let answers = near.iter().map(|t| t.rates.completed_rate);
        let spread = answers.clone().fold(0.0_f64, f64::max) / answers.fold(f64::MAX, f64::min);
        let overload = is_overload(&refusing);
        Self { lowest, middle, highest, constant, overload, wide: spread >= WIDE, trials: near }
    }

    /// Returns true if the server keeps the rate of good answers constant, however many requests are offered. A limit
    /// of the generator would not show this. Other failures, such as status 500, are not refusals.
    pub(crate) fn keep_one_rate(&self) -> bool {
        self.constant && self.wide && self.overload != Some(false)
    }
}
