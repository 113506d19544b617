//! Clock of a budget. The clock tells every step of a run how much time is left. The clock also tells how much time a
//! load test takes in addition to its load.

/// Assumed time of the first load test in addition to its warm-up and measurement, seconds: starting agents, draining
/// and writing the results.
const FIRST_OVERHEAD_S: f64 = 0.08;
/// Assumed time to judge and write a run for the first time, seconds.
const FIRST_JUDGEMENT_S: f64 = 0.14;
/// Time reserved for the end of a run, in multiples of the time that judging the run takes. At the end, the report is
/// written and the run is judged once more, including the resources needed for twice the capacity. With a reserve of
/// only 2.0 times the judging time, searches of 15 s took up to 16.1 s. These searches ran on two CPUs with 15 to 20
/// busy programs.
const LAST_JUDGEMENTS: f64 = 3.0;

/// Clock of a budget.
#[derive(Clone, Copy, Debug)]
pub struct BudgetClock {
    /// End of the budget, seconds since the start of the run.
    end_s: f64,
    /// Recent time for starting the agents of a load test, seconds.
    starting_s: f64,
    /// Recent time from the end of a measurement to the end of its load test, seconds.
    ending_s: f64,
    /// Recent time for storing a load test in the run, seconds.
    keeping_s: f64,
    /// Recent time to judge and write the run, seconds.
    judging_s: f64,
}

impl Default for BudgetClock {
    fn default() -> Self {
        Self {
            end_s: f64::INFINITY,
            starting_s: 0.5 * FIRST_OVERHEAD_S,
            ending_s: 0.0,
            keeping_s: 0.0,
            judging_s: FIRST_JUDGEMENT_S,
        }
    }
}

impl BudgetClock {
    /// Sets the end of the budget, seconds since the start of the run.
    pub fn end_at(&mut self, end_s: f64) {
        self.end_s = end_s;
    }

    /// Returns the seconds left for load tests; infinite without a budget.
    pub fn left_s(&self, now_s: f64) -> f64 {
        (self.end_s - self.keeping_s - LAST_JUDGEMENTS * self.judging_s - now_s).max(0.0)
    }

    /// Returns the seconds that a load test takes in addition to its warm-up and measurement.
    pub fn overhead_s(&self) -> f64 {
        (self.starting_s + self.ending_s + self.keeping_s).max(FIRST_OVERHEAD_S)
    }

    /// Returns the overhead, as [`Self::overhead_s`] does, of a load test whose last answers come within `drain_s`
    /// after its measurement. An overload delays the last answers of its own load test, but not those of the next load
    /// test.
    pub fn overhead_with_drain_s(&self, drain_s: f64) -> f64 {
        let ending_s = self.ending_s.min(drain_s.max(FIRST_OVERHEAD_S));
        (self.starting_s + ending_s + self.keeping_s).max(FIRST_OVERHEAD_S)
    }

    /// Returns the recent time for starting the agents of a load test, seconds.
    pub fn starting_s(&self) -> f64 {
        self.starting_s
    }

    /// Records the seconds that a load test took before the load began and after the measurement ended.
    pub fn conducted(&mut self, starting_s: f64, ending_s: f64) {
        (self.starting_s, self.ending_s) = (recent(self.starting_s, starting_s), recent(self.ending_s, ending_s));
    }

    /// Records the time that storing a load test took, seconds.
    pub fn kept(&mut self, took_s: f64) {
        self.keeping_s = recent(self.keeping_s, took_s);
    }

    /// Records the time that judging and writing the run took, seconds.
    pub fn judged(&mut self, took_s: f64) {
        self.judging_s = recent(self.judging_s, took_s);
    }
}

/// Returns the newest time, or the mean of the newest time and the earlier estimate, if this mean is longer.
fn recent(before_s: f64, now_s: f64) -> f64 {
    now_s.max(0.5 * (before_s + now_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_trial_is_remembered_and_slowly_forgotten() {
        let mut clock = BudgetClock::default();
        assert_eq!((clock.left_s(1e9), clock.overhead_s()), (f64::INFINITY, FIRST_OVERHEAD_S));
        clock.conducted(0.8, 0.2);
        clock.kept(0.5);
        assert_eq!(clock.overhead_s(), 1.5);
        (0..10).for_each(|_| clock.conducted(0.1, 0.0));
        assert!((clock.starting_s() - 0.1).abs() < 0.01 && (clock.overhead_s() - 0.6).abs() < 0.01, "{clock:?}");
    }

    #[test]
    fn time_to_judge_and_to_report_is_kept() {
        let mut clock = BudgetClock::default();
        clock.end_at(30.0);
        clock.judged(0.4);
        assert!((clock.left_s(20.0) - 8.8).abs() < 1e-9, "{clock:?}");
        assert_eq!(clock.left_s(40.0), 0.0);
    }
}
