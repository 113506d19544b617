//! Makes the generator acknowledge at once, so that nothing waits for a delayed acknowledgement.

use run::{Io, LoadPlan, Prove};

use super::lever::{Altered, Lever, Place, Pull, Reach};

pub(super) const ROW: Lever = Lever {
    id: "quick-ack",
    help: "the generator acknowledges at once (TCP_QUICKACK after each request)",
    tests: &["tcp-delayed-ack"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: 1.0,
    rights: "none",
    intrusion: "none at the server",
    dose: "all of the delay, or none of it",
    undo: "the connections end with their load",
    place: Place::Load,
    pull: Pull::Turns(altered),
};

/// Returns the two loads, both with epoll: only that driver sets the option, and drivers must not differ.
fn altered(_: &Reach, load: &LoadPlan) -> Result<Altered, String> {
    let off = LoadPlan { io: Io::Epoll, quick_ack: false, ..load.clone() };
    Ok(Altered { on: LoadPlan { quick_ack: true, ..off.clone() }, off, dose: 1.0, held: None })
}
