//! Sends many requests over each connection instead of one, during an experiment. With fewer new connections, hardly
//! any connection waits in the accept queue.

use run::{LoadPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: "keep-alive",
    help: "keeps connections where the load opens one per request",
    tests: &["accept-queue"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: 1.0,
    rights: "none",
    intrusion: "the server sees fewer connects",
    dose: "all connects except the first, or none",
    undo: "the connections end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

fn load_pair(_: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    match load.new_connections {
        true => Ok(LoadPair {
            off: load.clone(),
            on: LoadPlan { new_connections: false, ..load.clone() },
            dose: 1.0,
            change: None,
        }),
        false => Err("the load keeps its connections already".into()),
    }
}
