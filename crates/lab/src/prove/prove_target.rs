//! `loadline prove`: measures one steady load, and then uses all levers that work with such a load. A lever is a
//! temporary change that an experiment makes, such as taking CPU time from the server.

use std::path::Path;

use run::number::prose::counted;
use run::{Intensity, LoadPlan, Plan, Run, TrialKind};

use super::prove_all::prove_all;
use crate::{Lab, LabError, Point, TargetSetup, Watch};

/// Share of the time budget that the first load gets. The experiment changes nothing during the first load. The
/// counters of the first load give the verdict (the named bottleneck).
const UNDISTURBED_SHARE: f64 = 0.15;
/// Maximum length of the first load, during which the experiment changes nothing, seconds.
const MAX_UNDISTURBED_S: f64 = 8.0;

/// Loads the plan's target, reaches a verdict from the counters, and tests this verdict with all levers.
pub fn prove_target(plan: Plan, out: Option<&Path>, watch: &mut dyn Watch) -> Result<Run, LabError> {
    let (connections, label) = describe_load(&plan.load)?;
    let mut lab = Lab::begin(plan, out, watch)?;
    let setup = TargetSetup::prepare(&mut lab)?;
    lab.clock.end_at(lab.run.plan.search.budget_s);
    let (budget_s, rest_s) = (lab.run.plan.search.budget_s, lab.run.plan.observe.at_rest_s);
    lab.rest(&setup.observation, rest_s.min(budget_s / 20.0));
    // With an offered rate, the load test with a single client does not count as a step of a sweep.
    one_client(&mut lab, &setup, budget_s, if connections.is_some() { TrialKind::Sweep } else { TrialKind::Proof })?;
    if !lab.stopped() {
        let seconds = (budget_s * UNDISTURBED_SHARE).min(MAX_UNDISTURBED_S);
        let point = Point { label, kind: TrialKind::Fixed, ..Point::default() };
        let mut load = setup.load.clone();
        (load.warmup_s, load.duration_s) = (load.warmup_s.min(seconds / 4.0), seconds);
        let loads = setup.single_load(load);
        lab.trial(&setup.observation, &loads, &point)?;
    }
    let left_s = lab.left_s();
    if !lab.stopped() && left_s > 0.0 {
        prove_all(&mut lab, &setup, connections, left_s)?;
    }
    lab.finish()
}

/// Returns the number of connections of a closed loop (`None` for an open loop), and a description of the load.
fn describe_load(load: &LoadPlan) -> Result<(Option<u32>, String), LabError> {
    let refused = |why: &str| LabError::set_up("preparing the experiment", why);
    match &load.intensity {
        Intensity::Closed { connections, .. } => {
            Ok((Some(*connections), counted(f64::from(*connections), "connection")))
        }
        Intensity::Open { .. } if !load.stages.is_empty() || load.recorded().is_some() => {
            Err(refused("an experiment needs one constant rate: give --rate R"))
        }
        Intensity::Open { rate, .. } => Ok((None, format!("{rate} requests/s"))),
        Intensity::SClients { .. } => {
            Err(refused("S-Clients wait for no answer and have no request rate: give --connections N or --rate R"))
        }
    }
}

/// Loads the target with one client, because several rules need the unloaded response time.
fn one_client(lab: &mut Lab<'_>, setup: &TargetSetup, budget_s: f64, kind: TrialKind) -> Result<(), LabError> {
    if lab.stopped() {
        return Ok(());
    }
    let seconds = (budget_s * UNDISTURBED_SHARE / 4.0).clamp(0.3, 1.5);
    let mut load = setup.load.clone();
    load.intensity = Intensity::Closed { connections: 1, pipeline: 1, think: run::ThinkTime::default() };
    (load.threads, load.warmup_s, load.duration_s) = (1, seconds / 4.0, seconds);
    let point = Point { label: "1 connection".into(), kind, ..Point::default() };
    let loads = setup.single_load(load);
    lab.trial(&setup.observation, &loads, &point).map(drop)
}
