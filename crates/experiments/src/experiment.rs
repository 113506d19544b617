//! Row of the table of experiments.

use lab::{Lab, LabError};
use run::Plan;

use crate::Parameters;
use crate::figures::Figures;

/// One experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line: `loadline lab NAME`.
    pub name: &'static str,
    /// Purpose in one line.
    pub help: &'static str,
    /// Source, method and parameters, for `loadline explain NAME`.
    pub page: &'static str,
    /// Plan. `[lab]` holds the parameters, `[lab.quick]` their replacements for `--quick`.
    pub toml: &'static str,
    /// Whether the experiment supports the hosts of a plan (`--client-hosts`, `--server-host`).
    pub on_hosts: bool,
    /// Runs the experiment: stores trials in the lab, and fits and checks in its findings.
    pub run: fn(&mut Lab<'_>, &Parameters) -> Result<(), LabError>,
    /// Tables and charts.
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
