//! Row of the table of experiments.

use lab::{Lab, LabError};
use run::Plan;

use crate::Parameters;
use crate::figures::Figures;

/// Entry of one experiment in the list of experiments.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line: `loadline lab NAME`.
    pub name: &'static str,
    /// Purpose in one line.
    pub help: &'static str,
    /// Source, method and parameters, as shown by `loadline explain NAME`.
    pub page: &'static str,
    /// Plan of the experiment. `[lab]` has the parameters, and `[lab.quick]` their values for `--quick`.
    pub toml: &'static str,
    /// Parameters that the plan leaves unset, with their defaults, in TOML.
    pub(crate) unset: &'static str,
    /// True if the experiment can use the hosts of a plan (`--client-hosts`, `--server-host`).
    pub on_hosts: bool,
    /// Runs the experiment. The lab stores the trials, and the lab's findings store fits and checks.
    pub run: fn(&mut Lab<'_>, &Parameters) -> Result<(), LabError>,
    /// Tables and charts of the experiment.
    pub(crate) figures: Figures,
}

impl Experiment {
    /// Returns the built-in plan.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let file = format!("experiments/{}.toml", self.name);
        let mut plan = Plan::from_toml(&file, self.toml)?;
        plan.command = format!("lab {}", self.name);
        Ok(plan)
    }
}
