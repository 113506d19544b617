//! Keeps connections open, so that nothing waits in the accept queue.

use run::{LoadPlan, Prove};

use super::lever::{Altered, Lever, Place, Pull, Reach};

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
    dose: "all connects but the first, or none",
    undo: "the connections end with their load",
    place: Place::Load,
    pull: Pull::Turns(altered),
};

fn altered(_: &Reach, load: &LoadPlan) -> Result<Altered, String> {
    match load.new_connections {
        true => Ok(Altered {
            off: load.clone(),
            on: LoadPlan { new_connections: false, ..load.clone() },
            dose: 1.0,
            held: None,
        }),
        false => Err("the load keeps its connections already".into()),
    }
}
