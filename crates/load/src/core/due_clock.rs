//! Clock that gives the due times of requests. Requests that are due but not yet started are not stored. This clock
//! runs two copies of the arrival process instead of storing a list of waiting requests. The first copy counts the due
//! requests, and the second copy gives the due time of the oldest waiting request. Waiting requests therefore need no
//! memory, even if a server stalls for minutes.

use crate::arrivals::Arrivals;

/// Clock of the due requests of an open loop. Also the clock of the due connects of S-Clients (sockets that connect
/// again and again) with an arrival process.
pub(super) struct DueClock {
    due: Arrivals,
    next_ns: u64,
    behind: Arrivals,
    origin_ns: u64,
    waiting: u64,
    /// Planned number of requests per second.
    planned: f64,
    /// Current number of requests per second.
    rate: f64,
    /// True once the user has changed the rate.
    changed: bool,
}

impl DueClock {
    /// Creates a clock that begins at `origin_ns`, with `rate` arrivals per second on average.
    pub(super) fn new(arrivals: &Arrivals, rate: f64, origin_ns: u64) -> Self {
        let (mut due, behind) = (arrivals.clone(), arrivals.clone());
        let next_ns = origin_ns + due.next_ns();
        Self { due, next_ns, behind, origin_ns, waiting: 0, planned: rate, rate, changed: false }
    }

    /// Sets the start of the clock to `origin_ns`. This function must be called before the first due request is taken.
    pub(super) fn begin_at(&mut self, origin_ns: u64) {
        self.next_ns = origin_ns.saturating_add(self.next_ns - self.origin_ns);
        self.origin_ns = origin_ns;
    }

    /// From `now_ns` on, sets the rate to `factor` times the planned rate. Requests that are due before `now_ns` keep
    /// their due times. If stages or recorded times set the rate, changes nothing and returns false.
    pub(super) fn change_rate(&mut self, now_ns: u64, factor: f64) -> bool {
        let at_ns = now_ns.saturating_sub(self.origin_ns);
        let changed = self.due.change_rate(at_ns, factor) && self.behind.change_rate(at_ns, factor);
        if changed {
            (self.rate, self.changed) = (self.planned * factor, true);
            self.next_ns = self.origin_ns + self.due.latest_ns();
        }
        changed
    }

    /// Returns the due time of the next request, nanoseconds.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Returns the current mean rate per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns true if the rate is constant over time, and the user has not changed it.
    pub(super) fn is_even(&self) -> bool {
        self.due.is_even() && !self.changed
    }

    /// Returns the end of the recorded times, or `None` without recorded times.
    pub(super) fn recorded_end_ns(&self) -> Option<u64> {
        Some(self.origin_ns + self.due.recorded_end_ns()?)
    }

    /// Returns true if the due times are replayed from a recording, which has a last request.
    pub(super) fn is_recorded(&self) -> bool {
        self.due.is_recorded()
    }

    /// Returns the number of recorded requests that are due but not started. Recorded requests that are due also start
    /// during the drain, so that every recorded request is sent.
    pub(super) fn recorded_waiting(&self) -> u64 {
        if self.is_recorded() { self.waiting } else { 0 }
    }

    /// Returns the number of requests that are due but not started.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Calls `visit` with the due time of each waiting request, the oldest first.
    pub(super) fn each_waiting(&self, mut visit: impl FnMut(u64)) {
        let mut behind = self.behind.clone();
        (0..self.waiting).for_each(|_| visit(self.origin_ns + behind.next_ns()));
    }

    /// Takes the next request if it is due at the time `now`, and returns its due time. After a call of `take_due`, the
    /// request counts as waiting.
    pub(super) fn take_due(&mut self, now: u64) -> Option<u64> {
        if self.next_ns > now {
            return None;
        }
        let due = std::mem::replace(&mut self.next_ns, self.origin_ns + self.due.next_ns());
        self.waiting += 1;
        Some(due)
    }

    /// Takes the oldest waiting request, and returns its due time.
    pub(super) fn take_waiting(&mut self) -> Option<u64> {
        self.waiting = self.waiting.checked_sub(1)?;
        Some(self.origin_ns + self.behind.next_ns())
    }
}

/// Maximum number of due requests that are started in one pass of the event loop. A generator that is far behind would
/// otherwise send for a long time, and read no answers.
pub(super) const MAX_DUE_PER_PASS: u32 = 256;
