//! Choice of the cheapest setting of a server that meets all expectations.

use run::{Expectation, SizeGoal, SizeStep};

/// Name of the figure in an expectation about the capacity.
const CAPACITY: &str = "capacity";

/// Returns the goal of the choice: the fewest CPUs if the user expects a capacity, else the fewest CPUs per request.
pub(super) fn goal(expected: &[Expectation]) -> SizeGoal {
    let expects = expected.iter().any(|one| one.figure == CAPACITY);
    if expects { SizeGoal::Cpus } else { SizeGoal::CpusPerRequest }
}

/// Returns the index of the cheapest setting that meets all expectations. Of equally cheap settings, returns the one
/// with the largest capacity.
pub(super) fn cheapest(steps: &[SizeStep], goal: SizeGoal) -> Option<usize> {
    let price = |step: &SizeStep| {
        let (cpus, capacity) = (step.cost_cpus?, step.capacity?.rate);
        Some(match goal {
            SizeGoal::Cpus => (cpus, -capacity),
            SizeGoal::CpusPerRequest => (cpus / capacity, -capacity),
        })
    };
    let meeting = steps.iter().enumerate().filter(|(_, step)| step.meets);
    let priced = meeting.filter_map(|(at, step)| Some((at, price(step)?)));
    let best = priced.min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    best.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::ArenaCapacity;

    fn step(cpus: f64, rate: f64, meets: bool) -> SizeStep {
        let capacity = Some(ArenaCapacity { rate, low: 0.9 * rate, high: 1.1 * rate });
        SizeStep { capacity, cost_cpus: Some(cpus), meets, ..SizeStep::default() }
    }

    #[test]
    fn the_cheapest_setting_is_the_smallest_that_is_enough_or_the_one_with_the_best_ratio() {
        let mut steps =
            [step(0.5, 400.0, false), step(1.0, 900.0, true), step(1.0, 950.0, true), step(2.0, 2500.0, true)];
        assert_eq!(cheapest(&steps, goal(&[])), Some(3));
        let expectation = Expectation { figure: CAPACITY.into(), ..Expectation::default() };
        assert_eq!(cheapest(&steps, goal(&[expectation])), Some(2), "of two with one CPU, the faster one");
        steps.iter_mut().for_each(|step| step.meets = false);
        assert_eq!(cheapest(&steps, SizeGoal::Cpus), None);
    }
}
