//! Lowers the CPU quota of the server's upstream services by a quarter during an experiment.

use run::{LeverPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::quota;

pub(super) const ROW: Lever = Lever {
    id: "behind-quota",
    help: "lowers the CPU quota of the upstream's control group by a quarter",
    tests: &["server-concurrency"],
    needs: Prove::Intrusive,
    always: false,
    slot_s: quota::SLOT_S,
    planned: 1.0 - quota::REMAINING_SHARE,
    rights: "the right to write cpu.max (cpu.cfs_quota_us) of that control group",
    intrusion: "everything in that control group runs slower in half of the slots, also for its other users",
    dose: "the new quota over the old one",
    undo: "the old quota is saved first and restored; after a kill the next command restores it",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: Some(quota::check), act: quota::act },
};

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    match &targets.behind_pids[..] {
        [] => Err("no upstream process is known on this host".into()),
        pids => Ok(LeverPlan { lever: ROW.id.into(), pids: pids.to_vec(), ..LeverPlan::default() }),
    }
}
