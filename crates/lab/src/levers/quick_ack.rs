//! Makes the generator acknowledge every packet at once during an experiment, so the server never waits for a delayed
//! acknowledgement.

use run::{Io, LoadPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: "quick-ack",
    help: "makes the generator send ACKs at once (TCP_QUICKACK after each request)",
    tests: &["tcp-delayed-ack"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: 1.0,
    rights: "none",
    intrusion: "none at the server",
    dose: "all of the delay, or none of it",
    undo: "the connections end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

/// Returns two loads that differ only in `quick_ack`. Both loads use epoll, the only driver that supports `quick_ack`.
fn load_pair(_: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    let off = LoadPlan { io: Io::Epoll, quick_ack: false, ..load.clone() };
    Ok(LoadPair { on: LoadPlan { quick_ack: true, ..off.clone() }, off, dose: 1.0, change: None })
}
