//! Times at which the loop must be awake: when requests or connects are due, and when timers expire.

use super::{Core, Mode, due_clock};

/// Lateness of timers that the loop compensates, nanoseconds: the loop sets its timers this much earlier than the due
/// time. In a virtual machine, the median lateness was 33 µs, and 1 % of the wake-ups were more than 100 µs late.
const TIMER_LATENESS_NS: u64 = 90_000;
/// Maximum share of the time that the loop may busy-wait for due times.
const MAX_SPIN_SHARE: f64 = 0.45;
/// Rate above which the loop does not busy-wait, requests per second. Above this rate, the loop hardly sleeps anyway,
/// and requests need the CPU time.
const MAX_SPIN_RATE_PER_S: f64 = 20_000.0;

impl Core {
    /// Returns the latest time at which [`Core::advance`] must run next.
    pub(crate) fn next_ns(&self) -> u64 {
        let due = self.dues().filter(|_| !self.draining).map_or(u64::MAX, due_clock::DueClock::next_ns);
        self.timers.next().min(self.next_session_timer_ns()).min(due)
    }

    /// Returns how long before [`Core::next_ns`] the loop should wake up, because timers are late. Returns 0 if
    /// requests have no due times, if their rate is high, or during the drain.
    pub(crate) fn early_ns(&self) -> u64 {
        match self.dues().map(due_clock::DueClock::rate) {
            Some(rate) if !self.draining && rate < MAX_SPIN_RATE_PER_S => {
                TIMER_LATENESS_NS.min((1e9 * MAX_SPIN_SHARE / rate.max(1e-9)) as u64)
            }
            _ => 0,
        }
    }

    /// Returns the clock of due requests or due connects, if the load has one.
    fn dues(&self) -> Option<&due_clock::DueClock> {
        match &self.mode {
            Mode::Open(pool) => Some(pool.dues()),
            Mode::SClients(d) => d.dues(),
            _ => None,
        }
    }

    /// From `now` on, sets the rate of an open loop to `factor` times the planned rate. Does nothing for loads other
    /// than an open loop.
    pub(crate) fn change_rate(&mut self, now: u64, factor: f64) {
        if let Mode::Open(pool) = &mut self.mode
            && pool.dues.change_rate(now, factor)
        {
            pool.demand.plan(pool.dues.rate());
        }
    }
}
