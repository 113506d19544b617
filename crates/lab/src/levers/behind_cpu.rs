//! Takes a share of the CPUs of the server's upstreams.

use run::{LeverPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::thief;

pub(super) const ROW: Lever = Lever {
    id: "behind-cpu",
    help: "takes a quarter of the CPUs of what the server waits for, in short pieces",
    tests: &["server-concurrency"],
    needs: Prove::Default,
    always: false,
    slot_s: thief::SLOT_S,
    planned: thief::DOSE,
    rights: "none: own threads",
    intrusion: "what stands behind the server runs slower in half of the slots, for whoever else uses it, too; in the others a thread wakes on its CPUs",
    dose: "its run time over run time and wait for a CPU (schedstat), against slots without it",
    undo: "the threads end with their agent",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: None, act: thief::steal },
};

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    if targets.behind_pids.is_empty() || targets.behind_cpus.is_empty() {
        return Err("no process that the server waits for is known here".into());
    }
    Ok(thief::plan(ROW.id, &targets.behind_cpus, &targets.behind_pids, targets))
}
