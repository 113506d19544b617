//! Interface between a search and the trials that it needs.

use run::{LoadPlan, Run, Trial};

use crate::{LabError, Point};

/// Conducts trials one after another and keeps them in a run. The implementations are agents against a server, and a
/// queueing model in virtual time (`testkit::VirtualServer`) with a known capacity.
pub trait Conductor {
    /// Returns the run so far, with its plan.
    fn run(&self) -> &Run;

    /// Returns the load that all trials of the run share; intensity and times differ by trial.
    fn load(&self) -> &LoadPlan;

    /// Returns the seconds since the run began.
    fn elapsed_s(&self) -> f64;

    /// Returns the seconds after the search that turned out to be of no use to anything else. Asked once, at the end of
    /// the sweep; the search then takes them.
    fn unused_s(&mut self) -> f64 {
        0.0
    }

    /// Returns whether the search must stop.
    fn stopped(&mut self) -> bool;

    /// Tells the user something, once.
    fn note(&mut self, sentence: String);

    /// Conducts one trial and keeps it in the run.
    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError>;

    /// Makes one request outside of any load; the error says why no answer came.
    fn ask(&mut self) -> Result<(), String>;

    /// Records that the server went away in the last kept trial, and stops the search.
    fn gone(&mut self, why: &str) -> Result<(), LabError>;
}
