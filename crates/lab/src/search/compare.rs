//! Comparison of two live servers. The loads of the two servers take turns, or run at the same time if there are enough
//! CPUs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use judge::Pairing;
use run::{Plan, Run, Tick, WindowOrder};

use crate::search::live_target::LiveTarget;
use crate::search::turns::{DuetCpus, LivePlacement, Placement, TurnsPlan, take_turns};
use crate::{Lab, LabError, TargetSetup, Watch, resolve};

/// Result of a comparison of two live servers.
pub struct InTurns {
    /// Runs of the two servers. Each load test of a run is one short measurement (window) of its server.
    pub runs: [Run; 2],
    /// Order of the turns of the two servers.
    pub turns: WindowOrder,
    /// Weaknesses of the comparison, in sentences.
    pub notes: Vec<String>,
    /// Order of the two measurements of a pair: one after the other, or at the same time.
    pub pairing: Pairing,
    /// Moments at which the result was judged, as shares of the planned number of measurements.
    pub looks: Vec<f64>,
    /// Time after which the result was known, seconds; without a result, the time at which the comparison ended.
    pub ended_after_s: f64,
    /// True if the user ended the comparison.
    pub interrupted: bool,
}

/// Settings of a comparison of two live servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InTurnsPlan {
    /// Time for the whole comparison, seconds.
    pub budget_s: f64,
    /// Smallest relative change that matters.
    pub threshold: f64,
    /// True to use the whole budget, even if the result is known earlier.
    pub whole_budget: bool,
    /// Choice between measuring the servers in turns and at the same time.
    pub duet: DuetMode,
}

/// Choice between measuring two servers in turns and at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuetMode {
    /// Measures both servers at the same time, if separate CPU cores suffice for servers and generators, and both
    /// servers can be moved. If the CPU cores are too few or a server cannot be moved, the servers are measured in
    /// turns.
    #[default]
    Auto,
    /// Measures both servers at the same time, even if servers and generators share CPUs.
    Always,
    /// Always measures the two servers in turns.
    Never,
}

/// Loads the targets of both plans, in turns or at the same time. The seed of the first plan determines the order of
/// the loads. If the servers take turns, the runs are written to `dirs` after each load, so an error loses no finished
/// load. While both servers are measured at the same time, nothing is written, because this would disturb one of them.
/// `watch` is told which server is measured, and can end the comparison early.
pub fn in_turns(
    mut plans: [Plan; 2],
    settings: InTurnsPlan,
    dirs: Option<[&Path; 2]>,
    watch: &mut dyn Watch,
) -> Result<InTurns, LabError> {
    let InTurnsPlan { budget_s, threshold, whole_budget, duet } = settings;
    let mut duet = planned_duet(&mut plans, duet)?;
    let [a, b] = plans;
    let watch = Mutex::new(watch);
    let stopped = || locked(&watch).stop();
    let prepared = AtomicBool::new(false);
    let side_watch = |name| SideWatch { watch: &watch, name, prepared: &prepared };
    let [mut watch_a, mut watch_b] = ["old server", "new server"].map(side_watch);
    let [dir_a, dir_b] = match dirs.filter(|_| duet.is_none()) {
        Some(dirs) => dirs.map(Some),
        None => [None; 2],
    };
    let [mut a, mut b] = [prepare(a, dir_a, &mut watch_a)?, prepare(b, dir_b, &mut watch_b)?];
    prepared.store(true, Ordering::Relaxed);
    let first_s = [&a, &b].map(|side| side.target_setup.first_s);
    let plan = TurnsPlan { first_s, budget_s, threshold, whole_budget };
    // During the set-up, the servers ran on their assigned CPUs. Between the measurements, the servers may use all
    // CPUs.
    duet.iter_mut().for_each(|duet| duet.placement.restore());
    let crowded = duet.as_ref().filter(|duet| duet.crowded).map(|_| CROWDED.to_owned());
    let placement = duet.as_mut().map(|duet| &mut duet.placement as &mut dyn Placement);
    let taken = take_turns([&mut a, &mut b], &plan, placement, &stopped)?;
    let runs = [a.lab.finish()?, b.lab.finish()?].map(|run| Run { interrupted: run.interrupted || stopped(), ..run });
    Ok(InTurns {
        runs,
        turns: taken.order,
        notes: crowded.into_iter().chain(taken.notes).collect(),
        pairing: taken.pairing,
        looks: taken.looks,
        ended_after_s: taken.ended_after_s,
        interrupted: stopped(),
    })
}

/// Watch of one server's runs, which tells the watch of the whole comparison what is measured now.
struct SideWatch<'w, 'c> {
    watch: &'w Mutex<&'c mut dyn Watch>,
    /// Name of the server.
    name: &'static str,
    /// True once both servers have answered their test requests. After the test requests, the comparison itself ends
    /// the loads, so that both servers have the same number of loads.
    prepared: &'w AtomicBool,
}

impl Watch for SideWatch<'_, '_> {
    fn phase(&mut self, name: &str, expected_s: f64) {
        locked(self.watch).phase(&format!("{}, {name}", self.name), expected_s);
    }

    fn tick(&mut self, now: &Tick) {
        locked(self.watch).tick(now);
    }

    fn stop(&self) -> bool {
        !self.prepared.load(Ordering::Relaxed) && locked(self.watch).stop()
    }
}

fn locked<'w, 'c>(watch: &'w Mutex<&'c mut dyn Watch>) -> MutexGuard<'w, &'c mut dyn Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Note for the user if both servers are measured at the same time, as requested, without enough CPUs.
const CROWDED: &str =
    "servers and generators shared CPUs (--duet always): both servers are slower than alone, and not equally slow";

/// Two servers on this machine, measured at the same time.
struct Duet {
    placement: LivePlacement,
    /// True if servers and generators share CPUs.
    crowded: bool,
}

/// Plans to measure both servers at the same time, if `mode` and the machine allow this. When this function returns,
/// both servers are on their assigned CPUs.
fn planned_duet(plans: &mut [Plan; 2], mode: DuetMode) -> Result<Option<Duet>, LabError> {
    let fail = |why| LabError::set_up("running both servers at once (--duet always)", why);
    match mode {
        DuetMode::Never => Ok(None),
        DuetMode::Auto => Ok(duet(plans, false).ok()),
        DuetMode::Always => duet(plans, true).map(Some).map_err(fail),
    }
}

/// Plans to measure both servers at the same time. The error gives the reason why this is not possible.
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

fn prepare<'w>(plan: Plan, dir: Option<&Path>, watch: &'w mut dyn Watch) -> Result<LiveTarget<'w>, LabError> {
    let mut lab = Lab::begin(plan, dir, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    Ok(LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Phases(Vec<String>);

    impl Watch for Phases {
        fn phase(&mut self, name: &str, _: f64) {
            self.0.push(name.into());
        }
    }

    /// An earlier version of loadline showed nothing on the terminal during a comparison of a minute.
    #[test]
    fn the_watch_of_a_comparison_hears_which_server_is_measured() {
        let mut heard = Phases::default();
        let watch: Mutex<&mut dyn Watch> = Mutex::new(&mut heard);
        let prepared = AtomicBool::new(false);
        let side_watch = |name| SideWatch { watch: &watch, name, prepared: &prepared };
        let [mut old, mut new] = ["old server", "new server"].map(side_watch);
        old.phase("window 1", 1.0);
        new.phase("window 1", 1.0);
        assert_eq!(heard.0, ["old server, window 1", "new server, window 1"]);
    }
}
