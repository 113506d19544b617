//! One server with different resources: what each setting brings, and the cheapest one that is enough.

mod choose;
mod law;
mod pod;
mod step;

pub use step::{predicted, step};

use run::{Expectation, SizeResult};

/// Fills in what follows from all settings together, given the expectations of the plan.
pub fn finish(result: &mut SizeResult, expected: &[Expectation]) {
    result.goal = choose::goal(expected);
    result.cheapest = choose::cheapest(&result.steps, result.goal);
    result.usl = law::usl(&result.steps);
    result.resources = result.cheapest.and_then(|at| pod::resources(&result.steps[at]));
}
