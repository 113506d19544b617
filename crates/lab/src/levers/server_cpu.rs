//! Slows the server during an experiment: threads of loadline use a share of the same CPUs.

use run::{LeverPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::thief;

pub(super) const ROW: Lever = Lever {
    id: "server-cpu",
    help: "takes a quarter of the server's CPU, in short pieces",
    tests: &["server-cpu", "server-single-thread", "server-concurrency"],
    needs: Prove::Default,
    always: true,
    slot_s: thief::SLOT_S,
    planned: thief::DOSE,
    rights: "none: own threads",
    intrusion: "the server runs slower in half of the slots; in the others a thread wakes on its CPUs, up to 2,000 times a second",
    dose: "the server's run time over run time plus wait for a CPU (schedstat), against slots without the lever",
    undo: "the threads end with their agent",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: None, act: thief::steal },
};

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    if targets.server_pids.is_empty() || targets.server_cpus.is_empty() {
        return Err("the server's processes are unknown; name their host with --server-host".into());
    }
    Ok(thief::plan(ROW.id, &targets.server_cpus, &targets.server_pids, targets))
}
