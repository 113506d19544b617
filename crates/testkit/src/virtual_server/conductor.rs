//! Lets the search for the capacity run its trials (loads) on a simulated server.

use lab::search::Conductor;
use lab::{LabError, Point};
use run::{LoadPlan, Objective, Run, Trial};

use super::VirtualServer;

impl Conductor for VirtualServer {
    fn run(&self) -> &Run {
        &self.run
    }

    fn load(&self) -> &LoadPlan {
        &self.load
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s - self.left_out_s
    }

    fn left_s(&self) -> f64 {
        self.run.plan.search.budget_s - self.elapsed_s()
    }

    fn wait(&mut self, seconds: f64) {
        self.now_s += seconds;
        self.leave_out(seconds);
    }

    fn leave_out(&mut self, seconds: f64) {
        self.left_out_s += seconds;
    }

    fn set_objective(&mut self, objective: Objective) {
        self.run.plan.objective = objective;
    }

    fn overhead_s(&self) -> f64 {
        self.around_s
    }

    fn reserve(&mut self, _: f64) {}

    fn begin_repeat(&mut self, _: u32) {}

    fn experiment(&mut self) -> Result<(), LabError> {
        Ok(())
    }

    fn unused_s(&mut self) -> Result<f64, LabError> {
        Ok(self.unused_s)
    }

    fn stopped(&mut self) -> bool {
        false
    }

    fn note(&mut self, sentence: String) {
        self.run.notes.push(run::Note { text: sentence, ..run::Note::default() });
    }

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        let trial = self.conduct(&plan, point)?;
        self.run.trials.push(trial.clone());
        Ok(trial)
    }

    fn ask(&mut self) -> Result<bool, String> {
        Ok(true)
    }

    fn refuses_at_rest(&mut self) {
        self.note("refuses at rest".into());
    }

    fn gone(&mut self, why: &str) -> Result<(), LabError> {
        self.note(format!("gone: {why}"));
        Ok(())
    }
}
