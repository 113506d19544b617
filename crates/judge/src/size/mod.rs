//! Measurement of one server with different resources (settings). Finds the capacity with each setting, and the
//! cheapest setting that meets the user's expectations.

mod choose;
mod law;
mod pod;
mod step;

pub use step::{predicted, step};

use run::{Expectation, SizeResult};

/// Fills in the results that need all settings. The results are the goal, the cheapest setting, the fitted scalability
/// law, the Pod's resources, and the budget that would suffice. If no scalability law could be fitted, a note says why.
/// In addition to its capacity search, each setting takes `overhead_s` seconds.
pub fn finish(result: &mut SizeResult, expected: &[Expectation], overhead_s: f64) {
    result.goal = choose::goal(expected);
    (result.cheapest, result.may_be_cheaper) = choose::cheapest(&result.steps, result.goal);
    let needed_s = result.steps.iter().filter_map(|step| step.needed_s).reduce(f64::max);
    result.needed_budget_s = needed_s.map(|needed_s| result.steps.len() as f64 * (needed_s + overhead_s));
    let (law, no_law) = law::usl(&result.steps).map_or_else(|why| (None, Some(why)), |law| (Some(law), None));
    result.usl = law;
    result.notes.extend(no_law.filter(|_| !result.steps.is_empty()));
    result.resources = result.cheapest.and_then(|at| pod::resources(&result.steps[at]));
}
