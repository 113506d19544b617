//! Conducts the load tests of a search, in which agents load a real server. Tests of searches use a simulated server
//! instead.

use run::{LoadPlan, Objective, Run, Trial};

use crate::prove;
use crate::search::Conductor;
use crate::trial::backlog::alive_timeout_s;
use crate::{Lab, LabError, Point, TargetSetup};

/// A server under the load of agents.
pub(crate) struct LiveTarget<'w> {
    pub(crate) lab: Lab<'w>,
    pub(crate) target_setup: TargetSetup,
    /// Start of this search's budget, in seconds since the start of the run. Time that is not part of this search, such
    /// as steps of the other server in a comparison, moves this start later.
    pub(crate) began_s: f64,
    /// Seconds reserved for the experiment after the search.
    pub(crate) proof_s: f64,
    /// Reason why there is no experiment, if the search got the experiment's time; `None` otherwise.
    pub(crate) no_proof: Option<String>,
}

/// Note for the user if the budget left too little time to check whether the server is alive.
const NOT_CHECKED: &str =
    "too little of the budget was left to check whether the server still answers after a load that got no answers";

impl LiveTarget<'_> {
    /// Returns the time to wait for an answer, seconds, when a request checks whether the server is alive. A comparison
    /// has no clock of a budget, and its windows are short. Its servers therefore get the whole timeout of a request: a
    /// server that merely has no CPU time must not count as dead, because this ends the comparison.
    fn alive_timeout_s(&self) -> f64 {
        let wait_s = alive_timeout_s(&self.lab.run, self.target_setup.first_s);
        if self.lab.left_s().is_finite() { wait_s } else { wait_s.max(self.lab.run.plan.load.timeout_s) }
    }
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

    fn left_s(&self) -> f64 {
        self.lab.left_s()
    }

    fn overhead_s(&self) -> f64 {
        self.lab.clock.overhead_s()
    }

    fn reserve(&mut self, seconds: f64) {
        self.proof_s = seconds;
    }

    /// Starts another repeat of the search with its own budget.
    fn begin_repeat(&mut self, repeat: u32) {
        self.lab.begin_repeat(repeat);
        self.began_s = self.lab.elapsed_s();
        self.lab.clock.end_at(self.began_s + self.lab.run.plan.search.budget_s);
    }

    fn experiment(&mut self) -> Result<(), LabError> {
        self.prove()
    }

    /// Returns the time reserved for the experiment if the experiment would show nothing: the time is too short, or the
    /// server refuses everything for a time. If the search has several repeats, returns 0: the time reserved for the
    /// experiment is not divided among the repeats.
    fn unused_s(&mut self) -> Result<f64, LabError> {
        let is_reserved = self.proof_s > 0.0 && self.lab.run.plan.repeat_count() == 1;
        if is_reserved {
            self.lab.save()?;
        }
        self.no_proof = if is_reserved { prove::untestable(&self.lab.run, self.proof_s) } else { None };
        Ok(if self.no_proof.is_some() { self.proof_s } else { 0.0 })
    }

    fn stopped(&mut self) -> bool {
        self.lab.stopped()
    }

    fn note(&mut self, sentence: String) {
        self.lab.note(sentence);
    }

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        let loads = self.target_setup.single_load(plan);
        let observation = &self.target_setup.observation;
        match point.kind {
            run::TrialKind::Handshakes | run::TrialKind::Classes => {
                self.lab.trial(&observation.without_samples(), &loads, point).cloned()
            }
            _ => self.lab.trial(observation, &loads, point).cloned(),
        }
    }

    fn leave_out(&mut self, seconds: f64) {
        self.began_s += seconds;
    }

    fn set_objective(&mut self, objective: Objective) {
        self.lab.run.plan.objective = objective;
    }

    fn ask(&mut self) -> Result<bool, String> {
        let (wait_s, left_s) = (self.alive_timeout_s(), self.lab.left_s());
        // In less time, no server could answer.
        if left_s < self.target_setup.first_s {
            self.lab.note(NOT_CHECKED);
            return Ok(true);
        }
        let answered = match self.target_setup.still_answers(&self.lab, wait_s.min(left_s)) {
            // If the user stops the run, the missing answer says nothing about the server.
            Err(_) if self.lab.stopped() => return Ok(true),
            Err(_) if wait_s > left_s && self.lab.left_s() <= 0.0 => {
                self.lab.note(NOT_CHECKED);
                return Ok(true);
            }
            asked => asked?,
        };
        self.lab.count(&answered);
        Ok(answered.unexpected_status == 0)
    }

    fn refuses_at_rest(&mut self) {
        self.lab.refuses_at_rest();
    }

    fn gone(&mut self, why: &str) -> Result<(), LabError> {
        self.lab.gone(why, self.alive_timeout_s())
    }
}
