//! What a search stands on.

use run::{LoadPlan, Run, Trial};

use crate::{LabError, Point};

/// Conducts trials one after another and keeps them in a run: agents against a server, or a queueing model in virtual time
/// (`testkit::VirtualServer`), so that a search can be held against a known capacity.
pub trait Conductor {
    /// The run so far, with its plan.
    fn run(&self) -> &Run;

    /// What every load of the run has in common; intensity and times change by trial.
    fn load(&self) -> &LoadPlan;

    /// Seconds since the run began.
    fn elapsed_s(&self) -> f64;

    /// Whether nothing more is to be tried.
    fn stopped(&mut self) -> bool;

    /// Something that the user should know, once.
    fn note(&mut self, sentence: String);

    /// Conducts one trial and keeps it in the run.
    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError>;

    /// Makes one request outside of any load; the error says why no answer came.
    fn ask(&mut self) -> Result<(), String>;

    /// The server went away in the trial that was kept last, for this reason: nothing more is tried.
    fn gone(&mut self, why: &str) -> Result<(), LabError>;
}
