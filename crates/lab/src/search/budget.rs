//! Durations of the steps of a search, chosen so that the search stays within its budget. A search has sweep steps
//! (with 1, 2, 4, … clients), search steps (with offered rates) and one overload step. All functions of this file are
//! pure. A lever is a temporary change that an experiment makes, such as slowing a CPU.

use crate::prove::{BUDGET_SHARE, MAX_BUDGET_SHARE};

/// Durations of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    /// Maximum length of the warm-up, seconds.
    pub warmup_s: f64,
    /// Minimum length of the warm-up, seconds. After the minimum, the warm-up ends as soon as the rate is steady.
    pub least_warmup_s: f64,
    /// Length of the measurement, seconds.
    pub measure_s: f64,
    /// Time that a load test takes in addition to warm-up and measurement, seconds: starting agents, draining and
    /// writing the results.
    pub overhead_s: f64,
}

/// Division of a budget among the parts of a search. If the rate of a server becomes steady quickly, most of the budget
/// is spent on measuring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    total_s: f64,
    overhead_s: f64,
}

/// Minimum length of a measurement as a multiple of the response time, if the budget allows it. The warm-up is at least
/// as long, so that the empty queue at the start no longer matters.
const RESPONSES_PER_WINDOW: f64 = 20.0;
/// Minimum length of the first step's warm-up and of its measurement, as a multiple of the test request's response
/// time. A step shorter than one response time would see no answer.
const RESPONSES_OF_FIRST_STEP: f64 = 4.0;
/// Minimum number of sweep steps that must fit into the time of the sweep. In one search, the test request took seven
/// times as long as later requests. With only one sweep step, one search began at 74/s, although the server had a
/// capacity of 1,000/s.
const FIRST_STEPS: f64 = 3.0;
/// Maximum factor by which the measurements are made longer for a slow server.
const MAX_SLOW_FACTOR: f64 = 3.5;
/// Minimum number of measurements that the search on a slow server should have. With fewer measurements, the search
/// does not trust the capacity's confidence interval.
const MIN_WINDOWS: f64 = super::rate_search::MIN_WINDOWS as f64;
/// Minimum length of a warm-up, seconds. The test for a steady rate needs six intervals of at least 5 ms.
const MIN_WARM_UP_S: f64 = 0.04;
/// Minimum length of a warm-up as a share of the budget. A larger budget gives a longer warm-up.
const MIN_WARM_UP_SHARE: f64 = 0.004;
/// Time that a step takes on an idle machine in addition to its warm-up and measurement, seconds: starting agents,
/// draining and writing the results.
const STEP_OVERHEAD_S: f64 = 0.08;

/// Time of an experiment in addition to its time slots, seconds: questions to the hosts of levers, starting agents, and
/// judging.
const PROOF_OVERHEAD_S: f64 = 1.0;
/// Factor by which an experiment's time slots may last longer than the test request suggests. Under load, a server
/// completes about a tenth less than its test request suggests.
const PROOF_MARGIN: f64 = 1.1;
/// Minimum length of an experiment, seconds. If the usual share of the budget is shorter, there is no experiment.
const MIN_PROOF_S: f64 = 4.0;

/// Minimum length of a search in `arena` and `size`, seconds. In a simulation (`known_capacity`), three seconds are
/// enough to find a capacity of 10,000/s within 15 %. In the same simulation, three seconds give only a lower bound for
/// a capacity of 1,000/s.
pub const SHORTEST_SEARCH_S: f64 = 3.0;
/// Expected time of a whole search in addition to its own budget, seconds: test request, starting agents, and judging.
pub const SEARCH_OVERHEAD_S: f64 = 0.5;

/// Usual maximum length of a step's warm-up, seconds: enough for judge's test to recognize a steady rate. If half of
/// the measurement is longer than [`MAX_WARM_UP_S`], the maximum is half of the measurement. With very small budgets,
/// the maximum warm-up is shorter.
const MAX_WARM_UP_S: f64 = 0.7;
/// Usual maximum length of a search step's warm-up, seconds. If a quarter of the measurement is longer than
/// [`MAX_SEARCH_WARM_UP_S`], the maximum is a quarter of the measurement.
const MAX_SEARCH_WARM_UP_S: f64 = 0.35;

impl Budget {
    /// Creates the budget of a search that may take `total_s` seconds (at least 1 s).
    pub fn new(total_s: f64) -> Self {
        Self { total_s: total_s.max(1.0), overhead_s: STEP_OVERHEAD_S }
    }

    /// Returns the budget of the search, and the number of seconds for the experiment after it. The experiment needs a
    /// minimum time, which depends on the server's response time.
    pub fn with_proof(total_s: f64, response_s: f64) -> (Self, f64) {
        let needed = (PROOF_MARGIN * crate::prove::least_seconds(response_s) + PROOF_OVERHEAD_S) / total_s;
        let share = if needed > BUDGET_SHARE { needed.min(MAX_BUDGET_SHARE) } else { BUDGET_SHARE };
        // A short budget is used entirely for the search, even if the test request was slow.
        let proof_s = if BUDGET_SHARE * total_s >= MIN_PROOF_S { total_s * share } else { 0.0 };
        (Self::new(total_s - proof_s), proof_s)
    }

    /// Returns the budget with additional seconds for the search.
    #[must_use]
    pub fn extended(self, by_s: f64) -> Self {
        Self { total_s: self.total_s + by_s.max(0.0), ..self }
    }

    /// Returns the budget for steps that take `overhead_s` seconds in addition to warm-up and measurement.
    #[must_use]
    pub fn paced(self, overhead_s: f64) -> Self {
        Self { overhead_s, ..self }
    }

    /// Returns the length of the observation without load, seconds: at most `wanted_s`, and at most a hundredth of the
    /// budget.
    pub fn at_rest_s(&self, wanted_s: f64) -> f64 {
        wanted_s.clamp(0.0, self.total_s / 100.0)
    }

    /// Returns the time at which the closed-loop sweep must have ended, seconds since the start of the search.
    pub fn sweep_until_s(&self) -> f64 {
        self.total_s * 0.45
    }

    /// Returns the time by which the step with the user's number of connections must have ended, seconds since the
    /// start of the search. This step may take time from the search for the highest rate, because the user asked for
    /// it.
    pub fn chosen_until_s(&self) -> f64 {
        self.total_s * 0.6
    }

    /// Returns the time at which the search must have ended, seconds since its start.
    pub fn end_s(&self) -> f64 {
        self.total_s
    }

    /// Returns the time at which the last search step must have ended, seconds since the start of the search. After the
    /// returned time, enough time is left for the overload step.
    pub fn search_until_s(&self) -> f64 {
        self.total_s - self.search_step(0.0).whole_s()
    }

    /// Returns the durations of a sweep step, for a server whose recent response time is `response_s`.
    pub fn sweep_step(&self, response_s: f64) -> StepTimes {
        self.step(0.4, response_s)
    }

    /// Returns the durations of a sweep step that ends within `left_s` seconds and lasts at least `round_s` seconds. In
    /// this time, a server at its highest rate can answer each client once.
    pub fn chosen_step(&self, response_s: f64, round_s: f64, left_s: f64) -> StepTimes {
        let (step, shortest) = (self.sweep_step(response_s), self.sweep_step(0.0));
        let measure_s = step.measure_s.max(round_s);
        StepTimes { measure_s, ..step }.within(left_s, shortest.measure_s.max(round_s))
    }

    /// Returns the durations of the first step of the closed-loop sweep. `response_s` is the response time of the test
    /// request. Other programs may have delayed the answer to the test request, so the step leaves time for more steps
    /// within `left_s` seconds.
    pub fn first_step(&self, response_s: f64, left_s: f64) -> StepTimes {
        let (step, shortest) = (self.sweep_step(response_s), self.sweep_step(0.0));
        let least_s = shortest.measure_s.max(RESPONSES_OF_FIRST_STEP * response_s).min(step.measure_s);
        let least_warmup_s = step.least_warmup_s.min(shortest.least_warmup_s.max(RESPONSES_OF_FIRST_STEP * response_s));
        StepTimes { least_warmup_s, ..step }.within(left_s / FIRST_STEPS, least_s)
    }

    /// Returns the durations of a search step. Warm-ups are short, because the rate changes little from step to step.
    pub fn search_step(&self, response_s: f64) -> StepTimes {
        let step = self.step(1.0, response_s);
        StepTimes { warmup_s: (step.measure_s * 0.25).max(MAX_SEARCH_WARM_UP_S.min(step.warmup_s)), ..step }
    }

    /// Returns the durations of a search step that must end within the given seconds. If a slow server would get fewer
    /// than [`MIN_WINDOWS`] measurements, the measurements are made shorter. The model in crate `judge` allows for
    /// measurements that are too short for the queue to grow, but a single measurement would give no interval.
    pub fn search_step_within(&self, search_s: f64, response_s: f64) -> StepTimes {
        let (step, shortest) = (self.search_step(response_s), self.search_step(0.0));
        let by = (search_s / (MIN_WINDOWS * step.whole_s())).min(1.0);
        let shorter = |seconds: f64, least_s: f64| (seconds * by).max(least_s.min(seconds));
        StepTimes {
            warmup_s: shorter(step.warmup_s, shortest.warmup_s),
            least_warmup_s: shorter(step.least_warmup_s, shortest.least_warmup_s),
            measure_s: shorter(step.measure_s, shortest.measure_s),
            ..step
        }
    }

    /// Returns the durations of a step whose measurement has `of_ten_s` seconds if the budget is 10 s. With a larger
    /// budget, the length of a measurement grows less than the budget, so the number of measurements grows, too. The
    /// speed of a machine differs from one measurement to the next, so only many measurements show its average.
    fn step(&self, of_ten_s: f64, response_s: f64) -> StepTimes {
        let base = (of_ten_s * (self.total_s / 10.0).powf(run::WINDOW_GROWTH)).max(0.1);
        let measure_s = (RESPONSES_PER_WINDOW * response_s).clamp(base, MAX_SLOW_FACTOR * base);
        let warmup_s = (measure_s * 0.5).max(MAX_WARM_UP_S.min(base));
        let least_s = (RESPONSES_PER_WINDOW * response_s).max(MIN_WARM_UP_SHARE * self.total_s).max(MIN_WARM_UP_S);
        StepTimes { warmup_s, least_warmup_s: least_s.min(warmup_s), measure_s, overhead_s: self.overhead_s }
    }
}

impl StepTimes {
    /// Returns the expected length of a step, including a short warm-up, its measurement, the start of agents and the
    /// drain.
    pub fn whole_s(&self) -> f64 {
        (1.3 * self.least_warmup_s).min(self.warmup_s) + self.measure_s + self.overhead_s
    }

    /// Returns the durations of a step that ends within the given seconds. First the maximum warm-up is made shorter,
    /// and then the measurement, down to `least_measure_s`.
    #[must_use]
    pub fn within(self, room_s: f64, least_measure_s: f64) -> Self {
        let measure_s = (room_s - self.overhead_s - self.least_warmup_s).max(least_measure_s).min(self.measure_s);
        let warmup_s = (room_s - self.overhead_s - measure_s).max(self.least_warmup_s).min(self.warmup_s);
        Self { warmup_s, measure_s, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_sweep_steps_six_search_steps_and_the_overload_fit() {
        let budget = Budget::new(30.0);
        let sweep = 8.0 * budget.sweep_step(0.001).whole_s();
        assert!(budget.at_rest_s(1.0) + sweep <= budget.sweep_until_s(), "{sweep}");
        let search = 7.0 * budget.search_step(0.001).whole_s();
        assert!(sweep + search < 28.0, "{sweep} + {search}");
        assert!(budget.search_until_s() > 27.0);
    }

    /// The server needs 8 ms per request, and the median is limited to 80 ms. In 10 s, an earlier version of loadline
    /// made only one measurement.
    #[test]
    fn a_short_search_of_a_slow_server_has_several_windows() {
        let budget = Budget::new(10.0);
        let whole_s = |search_s: f64| budget.search_step_within(search_s, 0.11).whole_s();
        assert!(5.2 / budget.search_step(0.11).whole_s() < 2.0 && 5.2 / whole_s(5.2) >= 3.0, "{}", whole_s(5.2));
        assert_eq!(budget.search_step_within(100.0, 0.11), budget.search_step(0.11));
        assert_eq!(budget.search_step_within(1.0, 0.0), budget.search_step(0.0));
    }

    /// A server that completes 5 requests per second, one at a time, gets an experiment within the default budget.
    #[test]
    fn a_slow_server_gets_the_time_that_its_experiment_needs() {
        let proof_s = |response_s| Budget::with_proof(30.0, response_s).1;
        assert_eq!((proof_s(0.001), proof_s(10.0)), (30.0 * BUDGET_SHARE, 30.0 * MAX_BUDGET_SHARE));
        assert!(proof_s(0.2) >= crate::prove::least_seconds(0.2), "{}", proof_s(0.2));
        assert_eq!(Budget::with_proof(5.0, 0.001).1, 0.0, "too short for any");
        assert_eq!(Budget::with_proof(10.0, 0.07).1, 0.0, "however slow the test request was");
    }

    #[test]
    fn a_slow_test_request_leaves_time_for_further_sweep_steps() {
        let budget = Budget::new(8.0);
        let first_s = budget.first_step(0.07, 3.2).whole_s();
        assert!(first_s + 2.0 * budget.sweep_step(0.01).whole_s() < 3.2, "{first_s}");
        assert_eq!(budget.first_step(0.001, 3.2), budget.sweep_step(0.001), "a quick server needs no less");
    }

    #[test]
    fn a_step_at_the_end_of_the_budget_is_shorter() {
        let budget = Budget::new(30.0);
        let (step, least_s) = (budget.search_step(0.1), budget.search_step(0.0).measure_s);
        assert_eq!(step.within(100.0, least_s), step);
        for room_s in [2.5, 4.0, 6.0, 8.0] {
            let shorter = step.within(room_s, least_s);
            let longest_s = shorter.warmup_s + shorter.measure_s + shorter.overhead_s;
            assert!(longest_s <= room_s.max(shorter.least_warmup_s + least_s + 0.08) + 1e-9, "{room_s}: {shorter:?}");
        }
        assert_eq!(step.within(0.0, least_s).measure_s, least_s);
        assert!(budget.paced(0.5).search_step(0.0).whole_s() > budget.search_step(0.0).whole_s() + 0.4);
    }

    #[test]
    fn a_slow_server_gets_longer_windows() {
        let budget = Budget::new(30.0);
        assert!(budget.sweep_step(0.05).measure_s > budget.sweep_step(0.001).measure_s);
        assert!(budget.sweep_step(10.0).measure_s < 3.0);
        assert!(Budget::new(0.0).sweep_step(0.0).measure_s > 0.0);
    }
}
