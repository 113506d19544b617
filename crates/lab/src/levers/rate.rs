//! A lever (temporary change that an experiment makes) that raises the number of offered requests per second. Under an
//! open loop, a higher rate has the same effect as slowing every resource by the same factor.

use run::Prove;

use super::lever::{Lever, LeverHost, Pull};

pub(super) const ROW: Lever = Lever {
    id: judge::prove::RATE,
    help: "offers more requests per second (with --rate), as if the whole server were slower",
    tests: &[],
    needs: Prove::Default,
    // Only the lever `rate` shows the sum of the effects of all resources.
    always: true,
    slot_s: 0.0,
    planned: MAX_DOSE,
    rights: "none",
    intrusion: "the server gets more requests for a short time, but not too many for it",
    dose: "1 minus the offered rate without the lever over that with it",
    undo: "the load ends",
    place: LeverHost::Load,
    pull: Pull::Offered,
};

/// Maximum dose under a load with a fixed rate, for this lever and for levers that take CPU time.
pub(crate) const MAX_DOSE: f64 = 0.15;
