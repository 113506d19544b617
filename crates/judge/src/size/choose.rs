//! Choice of the cheapest setting of a server that meets all expectations.

use run::{Expectation, SizeGoal, SizeStep};

/// Name of the figure in an expectation about the capacity.
const CAPACITY: &str = "capacity";

/// Returns the cost that the cheapest setting minimizes: CPUs if the user expects a capacity, else CPUs per request.
pub(super) fn goal(expected: &[Expectation]) -> SizeGoal {
    let expects = expected.iter().any(|one| one.figure == CAPACITY);
    if expects { SizeGoal::Cpus } else { SizeGoal::CpusPerRequest }
}

/// Cost of a setting (CPUs, or CPUs per request), and the setting's negative capacity. Of settings with equal cost, the
/// setting with the larger capacity is preferred.
type Price = (f64, f64);

fn price(step: &SizeStep, goal: SizeGoal) -> Option<Price> {
    let (cpus, capacity) = (step.cost_cpus?, step.capacity?.rate);
    Some(match goal {
        SizeGoal::Cpus => (cpus, -capacity),
        SizeGoal::CpusPerRequest => (cpus / capacity, -capacity),
    })
}

fn order(a: &Price, b: &Price) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// Returns the index of the cheapest setting that meets all expectations, and the indexes of settings that may be
/// cheaper. Of equally cheap settings, returns the setting with the largest capacity.
///
/// For some settings (sizes of the server), only a lower bound of the capacity is known. The lower bound may be high
/// enough to show that the setting meets the expectations. The lower bound cannot show how many CPUs the setting needs
/// per request. The goal may be the fewest CPUs per request. The function returns no cheapest setting if a setting with
/// only a lower bound may be as cheap as the cheapest known one.
pub(super) fn cheapest(steps: &[SizeStep], goal: SizeGoal) -> (Option<usize>, Vec<usize>) {
    let priced = || steps.iter().enumerate().filter_map(|(at, step)| Some((at, step, price(step, goal)?)));
    let counts = |step: &SizeStep| step.meets && (goal == SizeGoal::Cpus || !step.at_least);
    let best = priced().filter(|(_, step, _)| counts(step)).min_by(|a, b| order(&a.2, &b.2));
    // A setting whose lower bound of the capacity misses the expectations may still meet them. A setting whose lower
    // bound meets the expectations may need fewer CPUs per request than the bound shows.
    let is_open = |step: &SizeStep, (cost, _): Price| {
        let known = best.as_ref().is_some_and(|(.., best)| best.0 <= cost);
        step.at_least && if goal == SizeGoal::Cpus { !step.meets && !known } else { step.meets }
    };
    let open: Vec<(usize, Price)> =
        priced().filter(|(_, step, price)| is_open(step, *price)).map(|(at, _, price)| (at, price)).collect();
    let beats = |best: &Price| goal == SizeGoal::CpusPerRequest && open.iter().any(|(_, price)| price.0 <= best.0);
    let best = best.filter(|(.., best)| !beats(best));
    (best.map(|(at, ..)| at), open.into_iter().map(|(at, _)| at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::ArenaCapacity;

    fn step(cpus: f64, rate: f64, meets: bool) -> SizeStep {
        let capacity = Some(ArenaCapacity { rate, low: 0.9 * rate, high: 1.1 * rate });
        SizeStep { capacity, cost_cpus: Some(cpus), meets, ..SizeStep::default() }
    }

    fn expects_capacity() -> SizeGoal {
        goal(&[Expectation { figure: CAPACITY.into(), ..Expectation::default() }])
    }

    #[test]
    fn the_cheapest_setting_is_the_smallest_that_is_enough_or_the_one_with_the_best_ratio() {
        let mut steps =
            [step(0.5, 400.0, false), step(1.0, 900.0, true), step(1.0, 950.0, true), step(2.0, 2500.0, true)];
        assert_eq!(cheapest(&steps, goal(&[])), (Some(3), vec![]));
        assert_eq!(cheapest(&steps, expects_capacity()), (Some(2), vec![]), "of two with one CPU, the faster one");
        steps.iter_mut().for_each(|step| step.meets = false);
        assert_eq!(cheapest(&steps, SizeGoal::Cpus), (None, vec![]));
    }

    /// This test repeats a situation that was observed with a real server: half a CPU completed 105,000/s. The search
    /// with one CPU ended at 31,000/s because its time was spent.
    #[test]
    fn a_lower_bound_is_enough_for_a_capacity_but_shows_no_cost_per_request() {
        let bound = |cpus, rate, meets| SizeStep { at_least: true, ..step(cpus, rate, meets) };
        let steps = [step(0.5, 105_000.0, true), bound(1.0, 31_000.0, true)];
        assert_eq!(cheapest(&steps, SizeGoal::CpusPerRequest), (Some(0), vec![1]), "it may need fewer per request");
        let steps = [step(0.5, 10_000.0, true), bound(1.0, 31_000.0, true)];
        assert_eq!(cheapest(&steps, SizeGoal::CpusPerRequest), (None, vec![1]), "it needs fewer per request");
        assert_eq!(cheapest(&steps[1..], SizeGoal::CpusPerRequest), (None, vec![0]));
        let steps = [bound(0.5, 9_000.0, false), bound(1.0, 31_000.0, true), bound(2.0, 9_000.0, false)];
        assert_eq!(cheapest(&steps, expects_capacity()), (Some(1), vec![0]), "half a CPU may be enough, too");
    }
}
