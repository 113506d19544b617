//! What a run says while it goes on, and how it is told to stop. The conductor prints nothing itself.

use run::{Side, Tick, TickDetail, Trial};

/// A trial while its load is on, as whoever looks on sees it.
#[derive(Clone, Debug, Default)]
pub struct Progressing {
    /// The sums of all agents' newest ticks.
    pub tick: Tick,
    /// Their failures by kind and response times so far.
    pub detail: TickDetail,
    /// The newest samples of each host of clients, of those that told theirs.
    pub clients: Vec<Side>,
    /// The same of the server's side.
    pub server: Option<Side>,
}

/// The user, as the conductor sees them. Every method has a default, so tests need none.
pub trait Watch {
    /// A phase begins that is expected to take so many seconds.
    fn phase(&mut self, _name: &str, _expected_s: f64) {}

    /// Load is on: the sums of all agents' newest ticks.
    fn tick(&mut self, _now: &Tick) {}

    /// Whether somebody looks at [`Watch::progress`]: then agents and observers tell more than results need.
    fn looks(&self) -> bool {
        false
    }

    /// Load is on: all that is known of it now, a few times a second.
    fn progress(&mut self, _now: Progressing) {}

    /// A trial ended and is part of the run.
    fn trial(&mut self, _trial: &Trial) {}

    /// Something to know.
    fn note(&mut self, _sentence: &str) {}

    /// How many times the planned rate an open loop of an even rate is to have now: other than 1 where somebody changed it by
    /// hand.
    fn factor(&self) -> f64 {
        1.0
    }

    /// Whether to end now. What was measured is kept.
    fn stop(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watch for Nobody {}
