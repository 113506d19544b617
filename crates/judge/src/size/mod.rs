//! Measurement of one server with different resources. Finds the capacity of each setting, and the cheapest setting
//! that suffices.

mod choose;
mod law;
mod pod;
mod step;

pub use step::{predicted, step};

use run::{Expectation, SizeResult};

/// Fills in the results that need all settings: the goal, the cheapest setting, the fitted law, and the Pod's
/// resources.
pub fn finish(result: &mut SizeResult, expected: &[Expectation]) {
    result.goal = choose::goal(expected);
    result.cheapest = choose::cheapest(&result.steps, result.goal);
    result.usl = law::usl(&result.steps);
    result.resources = result.cheapest.and_then(|at| pod::resources(&result.steps[at]));
}
