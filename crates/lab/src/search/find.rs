//! `loadline find`: the capacity of a server within a budget of time. It measures the idle state, the generator's own
//! ceiling, and then the capacity (`search::capacity`, or `user_search::capacity` in users).

use std::path::Path;

use run::{Intensity, Io, LoadPlan, Plan, Prove, Run, ThinkTime};

use crate::prove;
use crate::search::live_target::LiveTarget;
use crate::search::{self, Budget};
use crate::search::{class_turns, handshake_turns, user_search};
use crate::{Lab, LabError, Point, TargetSetup, Watch};

/// Connections of the trial without a server that shows the generator's own ceiling.
const CEILING_CONNECTIONS: u32 = 64;

/// Finds the capacity of the plan's target. After an interrupt, the returned run contains what was measured before.
pub fn find(plan: Plan, out: Option<&Path>, watch: &mut dyn Watch) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    let rest_s = Budget::new(lab.run.plan.search.budget_s).at_rest_s(lab.run.plan.observe.at_rest_s);
    lab.rest(&target_setup.observation, rest_s);
    let mut live = LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None };
    live.ceiling();
    let users = live.lab.run.plan.search.users;
    let whole_s = live.lab.run.plan.search.budget_s;
    let handshakes_s = if users { 0.0 } else { handshake_turns::seconds(&live.target_setup.load, whole_s) };
    let classes_s = if users { 0.0 } else { class_turns::seconds(&live.target_setup.load, whole_s) };
    let search_s = whole_s - handshakes_s - classes_s;
    let (budget, proof_s) = match live.lab.run.plan.search.prove {
        // Loads with levers have no think times, so they would differ from the users' load.
        Prove::Default | Prove::Intrusive if !users => Budget::with_proof(search_s, live.target_setup.first_s),
        _ => (Budget::new(search_s), 0.0),
    };
    live.proof_s = proof_s;
    for repeat in 0..live.lab.run.plan.repeat_count() {
        live.search(repeat, budget)?;
    }
    handshake_turns::conduct(&mut live, handshakes_s)?;
    class_turns::conduct(&mut live, classes_s)?;
    live.prove()?;
    live.lab.finish()
}

impl LiveTarget<'_> {
    /// Searches for the capacity once.
    fn search(&mut self, repeat: u32, budget: Budget) -> Result<(), LabError> {
        if repeat > 0 {
            if self.lab.stopped() {
                return Ok(());
            }
            self.lab.begin_repeat(repeat);
            self.began_s = self.lab.elapsed_s();
        }
        let response_s = self.target_setup.first_s;
        match self.lab.run.plan.search.users {
            true => user_search::capacity(self, budget, response_s),
            false => search::capacity(self, budget, response_s),
        }
    }

    /// Tests the verdict with the fewest connections that reach the highest rate: more of them only wait longer.
    fn prove(&mut self) -> Result<(), LabError> {
        if let Some(why) = self.no_proof.take() {
            prove::not_tried(&mut self.lab, why);
            return Ok(());
        }
        let decisive = self.lab.run.findings.picks.decisive.and_then(|at| self.lab.run.trials.get(at));
        let Some(Intensity::Closed { connections, .. }) = decisive.map(|t| &t.intensity) else { return Ok(()) };
        let connections = *connections;
        if self.proof_s <= 0.0 || self.lab.stopped() {
            return Ok(());
        }
        prove::prove(&mut self.lab, &self.target_setup, connections, self.proof_s)
    }

    /// Measures the generator alone with the null driver. A verdict must not blame the server near that rate.
    fn ceiling(&mut self) {
        if self.lab.stopped() || !self.target_setup.is_http() {
            return;
        }
        let intensity =
            Intensity::Closed { connections: CEILING_CONNECTIONS, pipeline: 1, think: ThinkTime::default() };
        let load = self.target_setup.load.clone();
        let duration_s = (0.01 * self.lab.run.plan.search.budget_s).clamp(0.05, 0.2);
        let (warmup_s, drain_s) = (duration_s / 5.0, 0.0);
        let plan = LoadPlan { io: Io::Null, intensity, warmup_s, duration_s, drain_s, ..load };
        let loads = self.target_setup.single_load(plan);
        let point = Point { label: "generator alone".into(), ..Point::default() };
        match self.lab.conduct(&self.target_setup.observation.blind(), &loads, &point) {
            Ok(trial) if trial.incidents.is_empty() => {
                self.lab.run.findings.trust.generator_ceiling = Some(trial.rates.completed_rate);
            }
            Ok(trial) => {
                let why = trial.incidents.iter().map(|i| i.text.as_str()).collect::<Vec<_>>().join("; ");
                self.lab.note(format!("the generator's own limit is unknown: {why}"));
            }
            Err(e) => self.lab.note(format!("the generator's own limit is unknown: {e}")),
        }
    }
}
