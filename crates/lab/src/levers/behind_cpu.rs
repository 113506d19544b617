//! Takes a share of the CPUs of the server's upstreams.

use run::{LeverPlan, Prove};

use super::lever::{Lever, Place, Pull, Reach};
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
    place: Place::Server,
    pull: Pull::Slots { plan, look: None, act: thief::steal },
};

fn plan(reach: &Reach) -> Result<LeverPlan, String> {
    if reach.behind_pids.is_empty() || reach.behind_cpus.is_empty() {
        return Err("no process that the server waits for is known here".into());
    }
    Ok(thief::plan(ROW.id, &reach.behind_cpus, &reach.behind_pids, reach))
}
