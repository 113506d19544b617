//! `loadline find`: finds the capacity of a server within a time budget. The command first observes client and server
//! without load, and measures the generator's own maximum. After measuring the generator, the command searches for the
//! capacity with `search::capacity`, or for a number of users with `user_search::capacity`.

use std::path::Path;

use run::{Intensity, Io, LoadPlan, Plan, Prove, Run, ThinkTime};

use crate::prove;
use crate::search::live_target::LiveTarget;
use crate::search::{self, Budget, Conductor};
use crate::search::{class_turns, handshake_turns, user_search};
use crate::trial::overrun;
use crate::{Lab, LabError, Point, TargetSetup, Watch};

/// Name of the phase that measures the generator without a server.
pub const GENERATOR_ALONE: &str = "generator alone";
/// Number of connections in the load test without a server, which measures the generator's own maximum rate.
const CEILING_CONNECTIONS: u32 = 64;

/// Finds the capacity of the plan's target. If the user interrupts the search, the run contains the load tests so far.
pub fn find(plan: Plan, out: Option<&Path>, watch: &mut dyn Watch) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    let budget_s = lab.run.plan.search.budget_s;
    lab.clock.end_at(budget_s);
    let target_setup = TargetSetup::prepare(&mut lab)?;
    let rest_s = Budget::new(budget_s).at_rest_s(lab.run.plan.observe.at_rest_s);
    lab.rest(&target_setup.observation, rest_s);
    let first_s = target_setup.first_s;
    let mut live = LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None };
    live.ceiling();
    within_budget(&mut live, first_s)?;
    // Each repeat has its own budget.
    let budget_s = live.lab.run.plan.search.budget_s * f64::from(live.lab.run.plan.repeat_count());
    let late = overrun::sentence(live.lab.elapsed_s(), budget_s, overrun::waited_s());
    late.into_iter().for_each(|text| live.lab.note(text));
    live.lab.finish()
}

/// Searches for the capacity, measures the costs of handshakes and classes, and tests the verdict (the named
/// bottleneck), all within the plan's budget. The test request took `first_s` seconds.
pub fn within_budget(conductor: &mut dyn Conductor, first_s: f64) -> Result<(), LabError> {
    let (plan, load) = (conductor.run().plan.clone(), conductor.load().clone());
    let (users, whole_s) = (plan.search.users, plan.search.budget_s);
    let handshakes_s = if users { 0.0 } else { handshake_turns::seconds(&load, whole_s) };
    let classes_s = if users { 0.0 } else { class_turns::seconds(&load, whole_s) };
    let overhead_s = conductor.overhead_s();
    let turns_s =
        handshake_turns::reserved_s(handshakes_s, overhead_s) + class_turns::reserved_s(&load, classes_s, overhead_s);
    // The turns that measure costs come after the search, so their time is subtracted here. `left_s` already leaves out
    // the time for the end of the run. The budget of the search begins with the run, so the elapsed time is a part of
    // it.
    let until_s = whole_s.min(conductor.elapsed_s() + conductor.left_s());
    let search_s = if turns_s > 0.0 { until_s - turns_s } else { whole_s };
    let (budget, proof_s) = match plan.search.prove {
        // A search for users has no experiment. The experiment's loads have no think times, so they would differ from
        // the users' load.
        Prove::Default | Prove::Intrusive if !users => Budget::with_proof(search_s, first_s),
        _ => (Budget::new(search_s), 0.0),
    };
    conductor.reserve(proof_s);
    for repeat in 0..plan.repeat_count() {
        if repeat > 0 && conductor.stopped() {
            break;
        }
        if repeat > 0 {
            conductor.begin_repeat(repeat);
        }
        match users {
            true => user_search::capacity(conductor, budget, first_s),
            false => search::capacity(conductor, budget, first_s),
        }?;
    }
    handshake_turns::conduct(conductor, handshakes_s)?;
    class_turns::conduct(conductor, classes_s)?;
    match conductor.experiment() {
        // Without the experiment, the result of the search is still valid.
        Err(error) if error.is_of_generators() => {
            conductor.note(format!("{}: {error}", prove::ENDED_EARLY));
            Ok(())
        }
        ended => ended,
    }
}

impl LiveTarget<'_> {
    /// Tests the verdict with the number of connections of the load test on which the verdict relies. The number of
    /// connections on which the verdict relies is usually the smallest that reaches the highest rate. With more
    /// connections, requests would only wait longer.
    pub(super) fn prove(&mut self) -> Result<(), LabError> {
        if let Some(why) = self.no_proof.take().or_else(|| prove::refuses_for_a_time(&self.lab.run)) {
            prove::not_tried(&mut self.lab, why);
            return Ok(());
        }
        self.lab.save()?;
        let decisive = self.lab.run.findings.picks.decisive.and_then(|at| self.lab.run.trials.get(at));
        let Some(Intensity::Closed { connections, .. }) = decisive.map(|t| &t.intensity) else { return Ok(()) };
        let connections = *connections;
        // If a server refuses every request, it has no throughput that the experiment could change.
        let refuses = self.lab.run.findings.failure == Some(run::Failure::FailedStretch);
        if refuses || self.lab.stopped() {
            return Ok(());
        }
        let seconds = match experiment_s(self.proof_s, self.lab.left_s()) {
            None => return Ok(()),
            Some(Err(why)) => {
                prove::not_tried(&mut self.lab, why.into());
                return Ok(());
            }
            Some(Ok(seconds)) => seconds,
        };
        let proved = prove::prove(&mut self.lab, &self.target_setup, connections, seconds);
        proved.inspect_err(|error| prove::ended_early(&mut self.lab, &self.target_setup, error))
    }

    /// Measures the highest rate of the generator alone. The null driver sends nothing, so it needs no server. A server
    /// that almost reaches this rate may be faster than the generator, so the verdict must not name the server.
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
        let point = Point { label: GENERATOR_ALONE.into(), ..Point::default() };
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

/// Returns the time for the experiment, seconds. `planned_s` is the planned time, and `left_s` the time that is left of
/// the budget. Returns `None` if no experiment is planned, and an error if no time is left.
fn experiment_s(planned_s: f64, left_s: f64) -> Option<Result<f64, &'static str>> {
    let seconds = planned_s.min(left_s);
    let why = "the search took the time that was planned for the experiment: give a longer --budget";
    (planned_s > 0.0).then_some(if seconds > 0.0 { Ok(seconds) } else { Err(why) })
}

#[cfg(test)]
mod tests {
    /// On a busy machine, starting the generators may take so long that no time is left. An earlier version of loadline
    /// then said nothing about the experiment.
    #[test]
    fn an_experiment_without_time_is_told() {
        assert_eq!(super::experiment_s(4.0, 9.0), Some(Ok(4.0)));
        assert_eq!(super::experiment_s(4.0, 3.0), Some(Ok(3.0)));
        assert!(super::experiment_s(4.0, -0.1).is_some_and(|seconds| seconds.is_err()));
        assert_eq!(super::experiment_s(0.0, 9.0), None, "no experiment is planned");
    }
}
