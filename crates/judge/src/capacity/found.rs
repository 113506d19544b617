//! Trials on both sides of a capacity: the one that shows the capacity, and the next one that missed the objective.

use run::{Capacity, Trial};

use super::chance::chance_of;
use crate::Facts;
use crate::context::single::good;
use crate::estimate::objective::{breach, holds, words};
use crate::number::{finite, positive};
use crate::thresholds::LIKELY_HELD;

/// A capacity, the trial that shows this capacity, and the trial at a higher rate that missed the objective.
pub(crate) struct Found<'a> {
    pub(crate) capacity: Capacity,
    pub(crate) trial: &'a Trial,
    pub(crate) failing: Option<&'a Trial>,
}

/// Returns a capacity without a rate: only the objective, and the trial at a higher rate that missed the objective.
pub(super) fn without_rate(facts: &Facts<'_>, failing: Option<&Trial>) -> Capacity {
    Capacity {
        failed_at: failing.and_then(|t| finite(t.rates.offered_rate)),
        failed_why: failing.and_then(|t| breach(t, &facts.limits)).map(|breach| words(&breach)),
        objective: facts.limits.text.clone(),
        ..Capacity::default()
    }
}

/// Returns the trial of the search whose rate is nearest to `rate`, among the trials that met the objective.
pub(super) fn nearest<'a>(facts: &Facts<'a>, rate: f64) -> Option<&'a Trial> {
    let held = facts.search.iter().copied().filter(|t| holds(t, &facts.limits) && positive(good(t)).is_some());
    let off = |t: &Trial| (good(t) / rate).ln().abs();
    held.min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// Returns the trial with the lowest offered rate, at or above `rate`, that clearly missed the objective. If no trial
/// missed the objective clearly, returns the trial with the lowest rate that missed the objective at all. Ignores
/// trials below `rate`, because a disturbance, not the load, made these trials fail.
pub(super) fn past<'a>(facts: &Facts<'a>, chances: &[Option<f64>], rate: f64) -> Option<&'a Trial> {
    let told = |t: &Trial| chance_of(facts, chances, t).is_some_and(|chance| chance < LIKELY_HELD);
    let broke = facts.search.iter().copied().filter(|t| t.rates.offered_rate >= rate && !holds(t, &facts.limits));
    let order = |t: &&Trial| (!told(t), t.rates.offered_rate);
    broke.min_by(|a, b| order(a).0.cmp(&order(b).0).then(order(a).1.total_cmp(&order(b).1)))
}
