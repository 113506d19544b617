//! Levers of an experiment that were not tried, and the budget that they need. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use run::UnusedLever;

use super::schedule::BUDGET_SHARE;
use crate::levers::Lever;
use crate::trial::Lab;

/// Shortest remaining time that a message mentions, seconds. For a shorter time, the message says that no time was
/// left.
const MIN_TOLD_S: f64 = 0.05;

/// Records in the experiment why a lever was not tried.
pub(super) fn note(lab: &mut Lab<'_>, row: &Lever, why: String) {
    let untried = UnusedLever { lever: row.id.into(), why };
    lab.run.findings.proof.iter_mut().for_each(|proof| proof.untried.push(untried.clone()));
}

/// Returns the total budget, seconds, that gives one part of the experiment `needed_s` seconds. `seconds` is the time
/// of this part with the current budget; negative if earlier parts took longer than planned.
pub(super) fn budget_for(lab: &Lab<'_>, needed_s: f64, seconds: f64) -> f64 {
    longer_budget_s(lab.run.plan.search.budget_s, needed_s, seconds)
}

fn longer_budget_s(budget_s: f64, needed_s: f64, seconds: f64) -> f64 {
    (budget_s + (needed_s - seconds).max(0.0) / BUDGET_SHARE).ceil()
}

/// Returns the message that the time is too short for a part of the experiment, such as "time slots of 2 levers". The
/// part of the experiment needs `least_s` seconds. The part has `seconds` with the current budget, and would have
/// enough time with `budget_s`.
pub(super) fn no_time(part: &str, least_s: f64, (seconds, budget_s): (f64, f64)) -> String {
    let left = if seconds < MIN_TOLD_S { "no time was".to_string() } else { format!("{seconds:.1} s were") };
    format!("{part} need {least_s:.1} s, and {left} left: give a --budget of {budget_s:.0} s or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version of loadline said that "-0.3 s are too short", and asked for a budget of 900 s.
    #[test]
    fn time_that_ran_out_is_no_negative_time_and_needs_no_huge_budget() {
        let budget_s = longer_budget_s(20.0, 4.5, -0.3);
        assert!((30.0..40.0).contains(&budget_s), "{budget_s}");
        assert_eq!(longer_budget_s(20.0, 4.5, 4.5), 20.0);
        let why = no_time("turns", 4.5, (-0.3, budget_s));
        assert!(why.contains("no time was left") && !why.contains("-0.3"), "{why}");
        assert!(no_time("turns", 4.5, (2.0, budget_s)).contains("2.0 s were left"));
    }
}
