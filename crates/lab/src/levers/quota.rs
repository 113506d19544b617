//! A lever (temporary change that an experiment makes) that lowers the CPU quotas of the server's control groups by a
//! quarter.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use probe::{CpuQuota, MIN_QUOTA_US};
use run::{AgentCommand, LeverCheck, LeverPart, LeverPlan, Prove};

use super::change::{Change, Resource};
use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::slot_clock::SlotClock;
use super::undo::Undo;

pub(super) const ROW: Lever = Lever {
    id: "quota",
    help: "lowers the CPU quota of the server's control group by a quarter",
    tests: &["server-cpu-quota"],
    needs: Prove::Intrusive,
    always: false,
    slot_s: SLOT_S,
    planned: 1.0 - REMAINING_SHARE,
    rights: "the right to write cpu.max (cpu.cfs_quota_us) of the server's control group",
    intrusion: "everything in the server's control group runs slower in half of the slots",
    dose: "the new quota over the old one",
    undo: "the old quota is saved first and restored; after a kill the next command restores it",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: Some(check), act },
};

/// Share of the quota that remains while the experiment lowers it.
pub(super) const REMAINING_SHARE: f64 = 0.75;
/// Slot length, seconds: several periods of the quota. A quota's period is usually 100 ms.
pub(super) const SLOT_S: f64 = 0.4;

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    targets.on_server(ROW.id)
}

/// Checks that the CPU quotas of the plan's processes can be changed.
pub(super) fn check(plan: &LeverPlan) -> Result<LeverCheck, String> {
    let undo = prepare(plan)?;
    for file in undo.resources() {
        let write = std::fs::OpenOptions::new().write(true).open(&file);
        write.map_err(|e| format!("{file} cannot be written: {e}"))?;
    }
    Ok(LeverCheck { resources: undo.resources(), ..LeverCheck::default() })
}

fn prepare(plan: &LeverPlan) -> Result<Undo, String> {
    let files: Vec<PathBuf> = quotas(plan)?.into_iter().map(|quota| quota.file).collect();
    Undo::prepare(files.iter().cloned().map(Resource::File), || {
        let quotas = quotas(plan)?;
        if !quotas.iter().map(|quota| &quota.file).eq(&files) {
            return Err("the server moves between control groups".into());
        }
        quotas.into_iter().map(lowered).collect()
    })
}

/// Returns the CPU quotas of the plan's processes, each once. Workers usually share one quota, but replicas of an
/// upstream may have one each. Processes without a quota are left out.
fn quotas(plan: &LeverPlan) -> Result<Vec<CpuQuota>, String> {
    let mut found: Vec<CpuQuota> = Vec::new();
    for quota in plan.pids.iter().filter_map(|pid| CpuQuota::of_process(*pid)) {
        if found.iter().all(|other| other.file != quota.file) {
            found.push(quota);
        }
    }
    if found.is_empty() { Err("the control group has no CPU quota, or it cannot be read".into()) } else { Ok(found) }
}

/// Returns the change that lowers a quota. In version 2 of control groups, the file contains the quota and the period;
/// in version 1, only the quota. In both versions of control groups, a later read of the file returns the written text.
/// The error says that the quota is too small to be lowered, so the lever would slow nothing.
fn lowered(quota: CpuQuota) -> Result<Change, String> {
    match quota.times(REMAINING_SHARE) {
        Some(after) => Ok(Change::File { file: quota.file, before: quota.text, after }),
        None => Err(format!(
            "the CPU quota in {} is {} us per period and cannot be lowered by a quarter, because the kernel accepts no \
             quota below {MIN_QUOTA_US} us",
            quota.file.display(),
            quota.quota_us
        )),
    }
}

/// Lowers the quotas of the plan's processes while the lever is on.
pub(super) fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let mut undo = prepare(plan)?;
    SlotClock::new(plan).switch(&commands, REMAINING_SHARE, |on| undo.switch(on))
}
