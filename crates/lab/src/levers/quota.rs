//! Lowers the CPU quota of the server's control group by a quarter during an experiment.

use std::sync::mpsc::Receiver;

use probe::CpuQuota;
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

/// Checks that the CPU quota of the plan's processes can be changed. Only the quota of the first process is read,
/// because all workers of a server usually share it.
pub(super) fn check(plan: &LeverPlan) -> Result<LeverCheck, String> {
    let undo = prepare(plan)?;
    for file in undo.resources() {
        let write = std::fs::OpenOptions::new().write(true).open(&file);
        write.map_err(|e| format!("{file} cannot be written: {e}"))?;
    }
    Ok(LeverCheck { resources: undo.resources(), ..LeverCheck::default() })
}

fn prepare(plan: &LeverPlan) -> Result<Undo, String> {
    let quota = || {
        let quota = plan.pids.first().and_then(|pid| CpuQuota::of_process(*pid));
        quota.ok_or("the control group has no CPU quota, or it cannot be read")
    };
    let file = quota()?.file;
    Undo::prepare([Resource::File(file.clone())], || {
        let quota = quota()?;
        if quota.file != file {
            return Err("the server moves between control groups".into());
        }
        // In version 2 of control groups, the file contains the quota and the period; in version 1, only the quota. In
        // both versions of control groups, a later read of the file returns the text that was written.
        let after = quota.times(REMAINING_SHARE);
        Ok(vec![Change::File { file: quota.file, before: quota.text, after }])
    })
}

/// Lowers the quota of the plan's processes while the lever is on.
pub(super) fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let mut undo = prepare(plan)?;
    SlotClock::new(plan).switch(&commands, REMAINING_SHARE, |on| undo.switch(on))
}
