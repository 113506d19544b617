//! What a run says while it goes on, and how it is told to stop. The conductor prints nothing itself.

use run::{Tick, Trial};

/// The user, as the conductor sees them. Every method has a default, so tests need none.
pub trait Watch {
    /// A phase begins that is expected to take so many seconds.
    fn phase(&mut self, _name: &str, _expected_s: f64) {}

    /// Load is on: the sums of all agents' newest ticks.
    fn tick(&mut self, _now: &Tick) {}

    /// A trial ended and is part of the run.
    fn trial(&mut self, _trial: &Trial) {}

    /// Something to know.
    fn note(&mut self, _sentence: &str) {}

    /// Whether to end now. What was measured is kept.
    fn stop(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watch for Nobody {}
