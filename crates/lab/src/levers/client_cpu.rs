//! Slows the generator during an experiment: threads of loadline use a share of the same CPUs.

use run::{LeverPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::thief;

pub(super) const ROW: Lever = Lever {
    id: "client-cpu",
    help: "takes a quarter of the generator's CPU, in short pieces",
    tests: &["client-cpu"],
    needs: Prove::Default,
    always: true,
    slot_s: thief::SLOT_S,
    planned: thief::DOSE,
    rights: "none: own threads",
    intrusion: "the generator runs slower in half of the slots; in the others a thread wakes on its CPUs, up to 2,000 times a second",
    dose: "the generator's run time over run time plus wait for a CPU (schedstat), against slots without the lever",
    undo: "the threads end with their agent",
    place: LeverHost::Clients,
    pull: Pull::Slots { plan, check: None, act: thief::steal },
};

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    if targets.client_pids.is_empty() || targets.client_cpus.is_empty() {
        return Err("the generator's CPUs are not known".into());
    }
    Ok(thief::plan(ROW.id, &targets.client_cpus, &targets.client_pids, targets))
}
