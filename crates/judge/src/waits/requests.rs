//! The account of requests: how many the server has, and which threads can hold them.

use run::{ClientConnections, WaitProfile};

/// Requests at the server, as bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Requests {
    /// Requests that were read and not answered: at least, and at most.
    in_progress: Option<(f64, f64)>,
    /// Requests that nobody has read.
    pub(super) queued: f64,
}

impl Requests {
    /// Returns the requests of a profile.
    pub(super) fn of(profile: &WaitProfile) -> Self {
        let bounds = |c: &ClientConnections| (c.in_progress, c.in_progress + c.uncertain);
        let queued = profile.clients.as_ref().map_or(0.0, |c| c.unread + c.queued);
        Self { in_progress: profile.clients.as_ref().map(bounds), queued }
    }

    /// Returns the requests per waiting thread that are left after each active thread has one: about 1 if the waiting threads hold requests,
    /// about 0 if they wait for work. At least, and at most.
    pub(super) fn per_waiter(&self, active: f64, waiting: f64) -> Option<(f64, f64)> {
        let (low, high) = self.in_progress?;
        (waiting > 0.0).then(|| ((low - active) / waiting, (high - active) / waiting))
    }

    /// Returns the requests that were read and not answered: at least, and at most.
    pub(super) const fn in_progress(&self) -> Option<(f64, f64)> {
        self.in_progress
    }

    /// Returns all requests at the server, at least.
    pub(super) fn demand(&self) -> f64 {
        self.in_progress.map_or(0.0, |(low, _)| low) + self.queued
    }
}
