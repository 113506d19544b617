//! Slows the server's upstream services during an experiment: threads of loadline use a share of the same CPUs.

use run::{LeverPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::thief;

pub(super) const ROW: Lever = Lever {
    id: "behind-cpu",
    help: "takes a quarter of the upstream's CPU, in short pieces",
    tests: &["server-concurrency"],
    needs: Prove::Default,
    always: false,
    slot_s: thief::SLOT_S,
    planned: thief::DOSE,
    rights: "none: own threads",
    intrusion: "the upstream runs slower in half of the slots, also for its other users; in the others a thread wakes on its CPUs",
    dose: "run time over run time plus wait for a CPU (schedstat), against slots without the lever",
    undo: "the threads end with their agent",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: None, act: thief::steal },
};

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    if targets.behind_pids.is_empty() || targets.behind_cpus.is_empty() {
        return Err("no upstream process is known on this host".into());
    }
    Ok(thief::plan(ROW.id, &targets.behind_cpus, &targets.behind_pids, targets))
}
