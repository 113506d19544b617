//! What to try next, without trying it: pure controllers that are fed what was seen. Tested against simulated servers,
//! so their decisions can be read without a network. `docs/method.md` says the same in prose.

mod bisect;
mod lengths;
mod sweep;

pub use bisect::{Bisect, Outcome};
pub use lengths::{Budget, Length};
pub use sweep::Sweep;

/// What one operating point showed, as far as the search cares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Requests a second that were wanted.
    pub offered_rate: f64,
    /// Requests a second that came back.
    pub completed_rate: f64,
    /// Whether the objective held, by judge's words for it.
    pub held: bool,
}
