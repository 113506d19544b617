//! Offers more requests a second: what slowing everything by the same would do, under an open loop.

use run::Prove;

use super::lever::{Lever, Place, Pull};

pub(super) const ROW: Lever = Lever {
    id: judge::prove::RATE,
    help: "offers more requests a second (under --rate): the same to a server as if all of it were slower",
    tests: &[],
    needs: Prove::Default,
    // Without it nothing says what all parts make together.
    always: true,
    slot_s: 0.0,
    planned: MOST,
    rights: "none",
    intrusion: "the server gets more requests for a short time, as many as leave it room",
    dose: "one less the offered rate without it over that with it",
    undo: "the load ends",
    place: Place::Load,
    pull: Pull::Offered,
};

/// Largest dose at an offered rate, of this lever and of each thief.
pub(crate) const MOST: f64 = 0.15;
