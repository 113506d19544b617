//! Chance that a trial met the objective.

use run::Trial;

use crate::Facts;

/// Returns the entry of `chances` for a trial of the run.
pub(super) fn chance_of(facts: &Facts<'_>, chances: &[Option<f64>], trial: &Trial) -> Option<f64> {
    let at = facts.run.trials.iter().position(|one| std::ptr::eq(one, trial))?;
    *chances.get(at)?
}
