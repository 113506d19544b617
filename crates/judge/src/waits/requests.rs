//! Number of requests at the server, compared with the number of threads that wait.

use run::{ClientConnections, WaitProfile};

use crate::thresholds::{WAIT_HOLDS_NONE, WAIT_MOSTLY};

/// Number of requests at the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Requests {
    /// Minimum and maximum of the number of requests that the server has read but not answered; `None` if unknown.
    in_progress: Option<(f64, f64)>,
    /// Number of requests that the server has not read yet.
    pub(super) queued: f64,
}

impl Requests {
    /// Counts the requests in a wait profile.
    pub(super) fn of(profile: &WaitProfile) -> Self {
        let bounds = |c: &ClientConnections| (c.in_progress, c.in_progress + c.uncertain);
        let queued = profile.clients.as_ref().map_or(0.0, |c| c.unread + c.queued);
        Self { in_progress: profile.clients.as_ref().map(bounds), queued }
    }

    /// Returns a lower and an upper bound of the requests per waiting thread, if each active thread has one request.
    /// The result is about 1 if the waiting threads work on requests, and about 0 if they wait for work.
    pub(super) fn per_waiter(&self, active: f64, waiting: f64) -> Option<(f64, f64)> {
        let (low, high) = self.in_progress?;
        (waiting > 0.0).then(|| ((low - active) / waiting, (high - active) / waiting))
    }

    /// Returns true if the waiting tasks or threads work on at least half of the requests in progress. Idle tasks and
    /// idle threads work on no request.
    pub(super) fn are_held_by(&self, waiting: f64) -> bool {
        self.may_be_in(waiting, 1.0 - WAIT_HOLDS_NONE)
    }

    /// Returns true if the tasks that wait for a lock may work on at least half of the requests in progress. A task
    /// that waits for a lock always has work. While a queue grows, requests and tasks are counted at different moments,
    /// so half a request per task is enough.
    pub(super) fn may_wait_for_lock(&self, waiting: f64) -> bool {
        self.may_be_in(waiting, WAIT_MOSTLY)
    }

    /// Returns true if the waiting tasks or threads are at least half as many as the requests in progress. Each waiting
    /// task or thread must also be able to have at least `least` requests on average.
    fn may_be_in(&self, waiting: f64, least: f64) -> bool {
        let Some((low, _)) = self.in_progress else { return false };
        let have_requests = self.per_waiter(0.0, waiting).is_some_and(|(_, high)| high >= least);
        waiting >= WAIT_MOSTLY.max(WAIT_MOSTLY * low) && have_requests
    }

    /// Returns a lower and an upper bound of the requests that were read but not answered. Returns `None` if the number
    /// is unknown.
    pub(super) const fn in_progress(&self) -> Option<(f64, f64)> {
        self.in_progress
    }

    /// Returns a lower bound of the requests at the server, whether they were read or not.
    pub(super) fn demand(&self) -> f64 {
        self.in_progress.map_or(0.0, |(low, _)| low) + self.queued
    }
}
