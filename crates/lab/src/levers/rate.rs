//! Offers more requests per second. Under an open loop, this has the effect of slowing everything by the same factor.

use run::Prove;

use super::lever::{Lever, LeverHost, Pull};

pub(super) const ROW: Lever = Lever {
    id: judge::prove::RATE,
    help: "offers more requests a second (under --rate): the same to a server as if all of it were slower",
    tests: &[],
    needs: Prove::Default,
    // Only this lever shows the sum of all parts.
    always: true,
    slot_s: 0.0,
    planned: MAX_DOSE,
    rights: "none",
    intrusion: "the server gets more requests for a short time, as many as leave it room",
    dose: "one less the offered rate without it over that with it",
    undo: "the load ends",
    place: LeverHost::Load,
    pull: Pull::Offered,
};

/// Largest dose at an offered rate, for this lever and for each CPU thief.
pub(crate) const MAX_DOSE: f64 = 0.15;
