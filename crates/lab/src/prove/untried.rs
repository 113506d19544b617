//! Levers of an experiment that were not tried, and the budget that they need.

use run::UnusedLever;

use crate::levers::Lever;
use crate::trial::Lab;

/// Records in the experiment why a lever was not tried.
pub(super) fn note(lab: &mut Lab<'_>, row: &Lever, why: String) {
    let untried = UnusedLever { lever: row.id.into(), why };
    lab.run.findings.proof.iter_mut().for_each(|proof| proof.untried.push(untried.clone()));
}

/// Returns the total budget, seconds, with which one part of the experiment gets `needed_s` seconds. With the current
/// budget, this part gets `seconds`.
pub(super) fn budget_for(lab: &Lab<'_>, needed_s: f64, seconds: f64) -> f64 {
    (lab.run.plan.search.budget_s * needed_s / seconds.max(0.1)).ceil()
}
