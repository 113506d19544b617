//! Comparison of two live servers, which are loaded in turns, or at once if there are enough CPUs.

use judge::Pairing;
use run::{Plan, Run, WindowOrder};

use crate::search::live_target::LiveTarget;
use crate::search::turns::{DuetCpus, LivePlacement, Placement, TurnsPlan, take_turns};
use crate::{Lab, LabError, Nobody, TargetSetup, Watch, resolve};

/// Result of two servers that were loaded in turns.
pub struct InTurns {
    /// Run of each server; the windows are its trials.
    pub runs: [Run; 2],
    /// Order of the turns.
    pub turns: WindowOrder,
    /// Sentences about what weakens the comparison.
    pub notes: Vec<String>,
    /// Way in which the windows were measured.
    pub pairing: Pairing,
    /// Shares of the planned windows at all looks at their result.
    pub looks: Vec<f64>,
    /// Time after which the result was known, seconds; without a result, the end.
    pub ended_after_s: f64,
    /// True if the user ended the comparison.
    pub interrupted: bool,
}

/// Settings of a comparison in turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InTurnsPlan {
    /// Time for everything, seconds.
    pub budget_s: f64,
    /// Smallest relative change that counts.
    pub threshold: f64,
    /// True to use the whole budget, also if the windows decide earlier.
    pub whole_budget: bool,
    /// Choice between windows in turns and at once.
    pub duet: DuetMode,
}

/// Choice between windows in turns and windows of both servers at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuetMode {
    /// At once if both servers and both generators have cores of their own, and both servers can be moved.
    #[default]
    Auto,
    /// At once, also if servers and generators share CPUs.
    Always,
    /// In turns.
    Never,
}

/// Loads both plans' targets in turns or at once. The order follows the first plan's seed.
pub fn in_turns(mut plans: [Plan; 2], settings: InTurnsPlan, watch: &dyn Watch) -> Result<InTurns, LabError> {
    let InTurnsPlan { budget_s, threshold, whole_budget, duet } = settings;
    let mut duet = planned_duet(&mut plans, duet)?;
    let [a, b] = plans;
    let (mut watch_a, mut watch_b) = (Nobody, Nobody);
    let [mut a, mut b] = [prepare(a, &mut watch_a)?, prepare(b, &mut watch_b)?];
    let first_s = [&a, &b].map(|side| side.target_setup.first_s);
    let plan = TurnsPlan { first_s, budget_s, threshold, whole_budget };
    // The set-up saw the servers on their CPUs; between the windows they may use all.
    duet.iter_mut().for_each(|duet| duet.placement.restore());
    let crowded = duet.as_ref().filter(|duet| duet.crowded).map(|_| CROWDED.to_owned());
    let placement = duet.as_mut().map(|duet| &mut duet.placement as &mut dyn Placement);
    let taken = take_turns([&mut a, &mut b], &plan, placement, &|| watch.stop())?;
    let runs =
        [a.lab.finish()?, b.lab.finish()?].map(|run| Run { interrupted: run.interrupted || watch.stop(), ..run });
    Ok(InTurns {
        runs,
        turns: taken.order,
        notes: crowded.into_iter().chain(taken.notes).collect(),
        pairing: taken.pairing,
        looks: taken.looks,
        ended_after_s: taken.ended_after_s,
        interrupted: watch.stop(),
    })
}

/// Note on a forced duet.
const CROWDED: &str =
    "servers and generators shared CPUs (--duet always): both servers are slower than alone, and not equally slow";

/// Duet of two servers on this machine.
struct Duet {
    placement: LivePlacement,
    /// True if servers and generators share CPUs.
    crowded: bool,
}

/// Plans windows of both servers at once, if `mode` and the machine allow them. Both servers are on their CPUs then.
fn planned_duet(plans: &mut [Plan; 2], mode: DuetMode) -> Result<Option<Duet>, LabError> {
    let fail = |why| LabError::set_up("running both servers at once (--duet always)", why);
    match mode {
        DuetMode::Never => Ok(None),
        DuetMode::Auto => Ok(duet(plans, false).ok()),
        DuetMode::Always => duet(plans, true).map(Some).map_err(fail),
    }
}

/// Plans a duet. The error says why both servers cannot run at once.
fn duet(plans: &mut [Plan; 2], crowded: bool) -> Result<Duet, String> {
    if plans.iter().any(|plan| !plan.hosts.is_empty()) {
        return Err("a server or a generator is on another host".into());
    }
    if plans.iter().any(|plan| !plan.load.cpus.is_empty()) {
        return Err("the generators have CPUs of their own choice (--cpus)".into());
    }
    let allowed = sys::limits::allowed_cpus().map_err(|e| e.to_string())?;
    let apart = DuetCpus::of(&allowed, probe::core_of);
    let crowded = crowded && apart.is_err();
    let cpus = if crowded { DuetCpus::crowded(&allowed) } else { apart }?;
    let pids = [listeners(&plans[0])?, listeners(&plans[1])?];
    let mut placement = LivePlacement::new(pids, cpus.servers)?;
    placement.place(false)?;
    if !crowded {
        plans.iter_mut().zip(cpus.generators).for_each(|(plan, cpus)| plan.load.cpus = cpus);
    }
    Ok(Duet { placement, crowded })
}

/// Returns the processes that listen at the target of a plan.
fn listeners(plan: &Plan) -> Result<Vec<u32>, String> {
    let at = resolve(&plan.target.url, &plan.load.protocol).map_err(|e| e.to_string())?;
    probe::find_server(at.addr).map(|found| found.pids).map_err(|e| e.to_string())
}

fn prepare(plan: Plan, watch: &mut Nobody) -> Result<LiveTarget<'_>, LabError> {
    let mut lab = Lab::begin(plan, None, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    Ok(LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None })
}
