//! What the table of experiments says of one: its row.

use lab::{Lab, LabError};
use run::Plan;

use crate::Parameters;
use crate::figures::Figures;

/// One row.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line: `loadline lab NAME`.
    pub name: &'static str,
    /// What it shows, in one line.
    pub help: &'static str,
    /// Source, method and parameters, for `loadline explain NAME`.
    pub page: &'static str,
    /// Its plan. `[lab]` holds its parameters, `[lab.quick]` what `--quick` puts in their place.
    pub toml: &'static str,
    /// Whether it can be played on the hosts of a plan (`--client-hosts`, `--server-host`).
    pub on_hosts: bool,
    /// Conducts it: keeps trials in the lab, and fits and checks in its findings.
    pub run: fn(&mut Lab<'_>, &Parameters) -> Result<(), LabError>,
    /// Its tables and charts.
    pub(crate) figures: Figures,
}

impl Experiment {
    /// The plan that comes with it.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let file = format!("experiments/{}.toml", self.name);
        let mut plan = Plan::from_toml(&file, self.toml)?;
        plan.command = format!("lab {}", self.name);
        Ok(plan)
    }
}
