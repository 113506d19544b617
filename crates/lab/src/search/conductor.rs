//! Interface between a search and the load tests that it conducts.

use run::{LoadPlan, Objective, Run, Trial};

use crate::{LabError, Point};

/// Conducts load tests one after another and keeps their results in a run. Outside of tests, agents load a real server.
/// Tests use queueing models of known capacity in virtual time, such as `testkit::VirtualServer`.
pub trait Conductor: Send {
    /// Returns the run so far, with its plan.
    fn run(&self) -> &Run;

    /// Returns the load plan shared by all load tests of the run. Each load test changes some settings of this plan,
    /// such as intensity, times and seed.
    fn load(&self) -> &LoadPlan;

    /// Returns the seconds since this search began, without the time that [`Conductor::leave_out`] subtracts.
    fn elapsed_s(&self) -> f64;

    /// Returns the seconds of the whole budget that are left for load tests.
    fn left_s(&self) -> f64;

    /// Returns the seconds that a load test takes in addition to its warm-up and measurement, estimated from earlier
    /// load tests.
    fn overhead_s(&self) -> f64;

    /// Reserves `seconds` after the search for the experiment that tests the verdict (the named bottleneck).
    fn reserve(&mut self, seconds: f64);

    /// Begins another independent repeat of the search.
    fn begin_repeat(&mut self, repeat: u32);

    /// Tests the verdict (the named bottleneck) in the remaining reserved time.
    fn experiment(&mut self) -> Result<(), LabError>;

    /// Returns the reserved seconds that the experiment cannot use. The search itself uses these seconds. The search
    /// calls this function once, at the end of the sweep (the closed-loop load tests with 1, 2, 4, … clients).
    fn unused_s(&mut self) -> Result<f64, LabError> {
        Ok(0.0)
    }

    /// Returns true if the search must stop.
    fn stopped(&mut self) -> bool;

    /// Shows a sentence to the user. A repeated sentence is shown only once.
    fn note(&mut self, sentence: String);

    /// Conducts one load test and keeps it in the run.
    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError>;

    /// Makes one request outside of any load. Returns true if the answer had an expected status. The error gives the
    /// reason why no answer came.
    fn ask(&mut self) -> Result<bool, String>;

    /// Records that a single request without load failed, after all requests of the run's last load test had failed,
    /// too.
    fn refuses_at_rest(&mut self);

    /// Records that this search had to wait `seconds` seconds while another server was loaded. The waiting time does
    /// not count as time of this search.
    fn wait(&mut self, seconds: f64) {
        self.leave_out(seconds);
    }

    /// Subtracts `seconds`, which have just passed, from the elapsed time of this search.
    fn leave_out(&mut self, seconds: f64);

    /// Sets the objective of the search.
    fn set_objective(&mut self, objective: Objective);

    /// Records that the server became unreachable in the last load test of the run, and stops the search.
    fn gone(&mut self, why: &str) -> Result<(), LabError>;
}
