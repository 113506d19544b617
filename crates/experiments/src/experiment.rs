//! Type of the entries in the list of experiments.

use lab::{Lab, LabError};
use run::Plan;

use crate::Parameters;
use crate::figures::Figures;

/// An experiment: its name, its texts, its plan and its functions.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line: `loadline lab NAME`.
    pub name: &'static str,
    /// Purpose of the experiment, in one line.
    pub help: &'static str,
    /// Text that `loadline explain NAME` shows: source, method and parameters of the experiment.
    pub page: &'static str,
    /// Plan of the experiment, in TOML. The table `[lab]` has the parameters, and `[lab.quick]` has their values for
    /// `--quick`.
    pub toml: &'static str,
    /// Parameters that the plan does not set, with their default values, in TOML.
    pub(crate) unset: &'static str,
    /// True if the experiment can run on several hosts (`--client-hosts`, `--server-host`).
    pub on_hosts: bool,
    /// Function that runs the experiment. The function stores trials in the [`Lab`], and stores fits and checks in the
    /// findings of the lab's run.
    pub run: fn(&mut Lab<'_>, &Parameters) -> Result<(), LabError>,
    /// Tables and charts of the experiment.
    pub(crate) figures: Figures,
}

impl Experiment {
    /// Parses and returns the built-in plan.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let file = format!("experiments/{}.toml", self.name);
        let mut plan = Plan::from_toml(&file, self.toml)?;
        plan.command = format!("lab {}", self.name);
        Ok(plan)
    }
}
