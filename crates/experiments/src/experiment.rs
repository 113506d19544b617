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
    /// Function that returns the planned time of the experiment in seconds, without repeats.
    pub(crate) planned_s: fn(&Parameters) -> f64,
    /// Function that runs the experiment. The function stores trials in the [`Lab`], and stores fitted curves and
    /// checks in the run's findings.
    pub run: fn(&mut Lab<'_>, &Parameters) -> Result<(), LabError>,
    /// Tables and charts of the experiment.
    pub(crate) figures: Figures,
}

/// Time that a trial takes beyond its warm-up and its window, seconds: start of the agents, and the last answers. In a
/// run of `lab proxy --quick`, each of twelve trials took 0.38 s beyond its window.
pub(crate) const AROUND_TRIAL_S: f64 = 0.5;
/// Time to build hosts of network namespaces and to start a server on them, seconds.
pub(crate) const BUILD_S: f64 = 1.5;

impl Experiment {
    /// Returns the planned time of the experiment in seconds, with all repeats of the plan. The actual time depends on
    /// the machine, and may be shorter, because a search for a limit may end early.
    pub fn planned_s(&self, plan: &Plan, quick: bool) -> f64 {
        let mut plan = plan.clone();
        let parameters = Parameters::of(&mut plan, quick);
        (self.planned_s)(&parameters) * f64::from(plan.repeat_count())
    }

    /// Parses and returns the built-in plan.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let file = format!("experiments/{}.toml", self.name);
        let mut plan = Plan::from_toml(&file, self.toml)?;
        plan.command = format!("lab {}", self.name);
        Ok(plan)
    }
}
