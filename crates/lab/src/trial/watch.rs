//! Interface for reports to the user during a run, and for the user's wish to stop. The conductor itself prints
//! nothing.

use run::{Run, Side, Tick, TickDetail, Trial};

/// State of a running load test, for the live view.
#[derive(Clone, Debug, Default)]
pub struct LiveProgress {
    /// Sums over all agents' newest ticks (progress reports).
    pub tick: Tick,
    /// Failures of each kind, and response times, since the start of the load.
    pub detail: TickDetail,
    /// Newest counter readings (samples) of each client host; hosts that have not sent samples yet are left out.
    pub clients: Vec<Side>,
    /// Newest counter readings (samples) of the server; `None` before the first sample, or if the server is not
    /// observed.
    pub server: Option<Side>,
}

/// Interface of the conductor to the user. Every method has a default, so that tests need to implement none. A watch
/// can be used in another thread, because two servers may be loaded at the same time.
pub trait Watch: Send {
    /// Announces a phase of the run and its expected length, seconds.
    fn phase(&mut self, _name: &str, _expected_s: f64) {}

    /// Reports progress under load, as sums over all agents' newest progress reports.
    fn tick(&mut self, _now: &Tick) {}

    /// Returns true if this watch shows what [`Watch::progress`] reports. If true, agents and observers also report
    /// data that only the live view needs.
    fn looks(&self) -> bool {
        false
    }

    /// Reports the state of the load test a few times per second.
    fn progress(&mut self, _now: LiveProgress) {}

    /// Reports a load test that was added to the run.
    fn trial(&mut self, _trial: &Trial) {}

    /// Reports the run after each load test. The run's conclusions may be older than its load tests.
    fn so_far(&mut self, _run: &Run) {}

    /// Reports a note that was added to the run.
    fn note(&mut self, _sentence: &str) {}

    /// Reports a fact that the user must know at once.
    fn alert(&mut self, _sentence: &str) {}

    /// Returns the factor by which the planned rate of a steady open loop is multiplied: 1 unless the user changes it.
    fn factor(&self) -> f64 {
        1.0
    }

    /// Returns true if the run should end now. A run that ends early keeps its results so far.
    fn stop(&self) -> bool {
        false
    }
}

/// Watch that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watch for Nobody {}
