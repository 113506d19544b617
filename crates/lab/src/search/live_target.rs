//! A server under the load of agents: the conductor of real searches.

use run::{LoadPlan, Run, Trial};

use crate::search::Conductor;
use crate::trial::preflight;
use crate::{Lab, LabError, Point, TargetSetup};

/// A server under the load of agents.
pub(crate) struct LiveTarget<'w> {
    pub(crate) lab: Lab<'w>,
    pub(crate) target_setup: TargetSetup,
    /// Start of this search's budget, in seconds of the run. Steps of the other search shift it.
    pub(crate) began_s: f64,
}

impl Conductor for LiveTarget<'_> {
    fn run(&self) -> &Run {
        &self.lab.run
    }

    fn load(&self) -> &LoadPlan {
        &self.target_setup.load
    }

    fn elapsed_s(&self) -> f64 {
        self.lab.elapsed_s() - self.began_s
    }

    fn stopped(&mut self) -> bool {
        self.lab.stopped()
    }

    fn note(&mut self, sentence: String) {
        self.lab.note(sentence);
    }

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        let loads = self.target_setup.single_load(plan);
        self.lab.trial(&self.target_setup.observation, &loads, point).cloned()
    }

    fn ask(&mut self) -> Result<(), String> {
        let answered = preflight::still_answers(&self.target_setup.addr, &self.target_setup.load)?;
        self.lab.count(&answered);
        Ok(())
    }

    fn gone(&mut self, why: &str) -> Result<(), LabError> {
        self.lab.gone(why)
    }
}
