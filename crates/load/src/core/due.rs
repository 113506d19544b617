//! What is due by an arrival process. Requests that wait are not stored: a second copy of the process runs behind the first
//! and says what the next one was due for, so a server that stands still for minutes costs no memory.

use crate::arrivals::Arrivals;

/// The clock of an open loop, or of S-Clients that follow an arrival process.
pub(super) struct Dues {
    due: Arrivals,
    next_ns: u64,
    behind: Arrivals,
    origin_ns: u64,
    waiting: u64,
    /// As planned, and as it is now.
    planned: f64,
    rate: f64,
    /// The rate was changed by hand.
    turned: bool,
}

impl Dues {
    /// Arrivals of a mean `rate` per second, from `origin_ns` on.
    pub(super) fn new(arrivals: &Arrivals, rate: f64, origin_ns: u64) -> Self {
        let (mut due, behind) = (arrivals.clone(), arrivals.clone());
        let next_ns = origin_ns + due.next_ns();
        Self { due, next_ns, behind, origin_ns, waiting: 0, planned: rate, rate, turned: false }
    }

    /// Time counts from this moment; nothing was taken yet.
    pub(super) fn begin_at(&mut self, origin_ns: u64) {
        self.next_ns = origin_ns.saturating_add(self.next_ns - self.origin_ns);
        self.origin_ns = origin_ns;
    }

    /// The rate is so many times the planned one from `now_ns` on. What is due until then, and when, stays as it was. Says
    /// whether that can be: a course of its own is not changed.
    pub(super) fn turn(&mut self, now_ns: u64, factor: f64) -> bool {
        let at_ns = now_ns.saturating_sub(self.origin_ns);
        let turned = self.due.turn(at_ns, factor) && self.behind.turn(at_ns, factor);
        if turned {
            (self.rate, self.turned) = (self.planned * factor, true);
            self.next_ns = self.origin_ns + self.due.again_ns();
        }
        turned
    }

    /// When the next one is due.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Mean rate per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether the rate is the same at all times.
    pub(super) fn is_even(&self) -> bool {
        self.due.is_even() && !self.turned
    }

    /// How many are due and not begun.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Tells when each that waits was due, the oldest first.
    pub(super) fn each_waiting(&self, mut told: impl FnMut(u64)) {
        let mut behind = self.behind.clone();
        (0..self.waiting).for_each(|_| told(self.origin_ns + behind.next_ns()));
    }

    /// Takes the next one that is due by `now`, and says when it was due; it waits from then on.
    pub(super) fn take_due(&mut self, now: u64) -> Option<u64> {
        if self.next_ns > now {
            return None;
        }
        let due = std::mem::replace(&mut self.next_ns, self.origin_ns + self.due.next_ns());
        self.waiting += 1;
        Some(due)
    }

    /// Takes the oldest that waits, and says when it was due.
    pub(super) fn take_waiting(&mut self) -> Option<u64> {
        self.waiting = self.waiting.checked_sub(1)?;
        Some(self.origin_ns + self.behind.next_ns())
    }
}

/// Requests looked at in one go, so that a generator that fell far behind still reads its answers.
pub(super) const AT_ONCE: u32 = 256;
