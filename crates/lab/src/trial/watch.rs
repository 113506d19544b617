//! Reports of a run while it is going on, and the user's wish to stop. The conductor itself prints nothing.

use run::{Run, Side, Tick, TickDetail, Trial};

/// State of a trial under load, for the live view.
#[derive(Clone, Debug, Default)]
pub struct LiveProgress {
    /// Sums of all agents' newest ticks.
    pub tick: Tick,
    /// Failures by kind and response times so far.
    pub detail: TickDetail,
    /// Newest samples of each client host that reported any.
    pub clients: Vec<Side>,
    /// Newest samples of the server's side.
    pub server: Option<Side>,
}

/// The user, from the conductor's point of view. Every method has a default, so tests need not implement any. Two
/// servers at once have a thread each.
pub trait Watch: Send {
    /// Announces a phase with its expected seconds.
    fn phase(&mut self, _name: &str, _expected_s: f64) {}

    /// Reports progress under load: the sums of all agents' newest ticks.
    fn tick(&mut self, _now: &Tick) {}

    /// Returns true if [`Watch::progress`] is used. Agents and observers then report more than the results need.
    fn looks(&self) -> bool {
        false
    }

    /// Reports the state of the trial a few times a second.
    fn progress(&mut self, _now: LiveProgress) {}

    /// Reports a trial that has become part of the run.
    fn trial(&mut self, _trial: &Trial) {}

    /// Reports the run so far, after each trial. The conclusions of the run may be older than its trials.
    fn so_far(&mut self, _run: &Run) {}

    /// Reports a note.
    fn note(&mut self, _sentence: &str) {}

    /// Returns the wanted multiple of the planned rate of a steady open loop: 1 unless the user changes it.
    fn factor(&self) -> f64 {
        1.0
    }

    /// Returns true if the run should end now. Results so far are kept.
    fn stop(&self) -> bool {
        false
    }
}

/// Watch that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watch for Nobody {}
