//! Times at which the loop must be awake: for due requests, due connects, and timers.

use super::{Core, Mode, due_clock};

/// Time by which timers wake up late, which the loop compensates for (in a virtual machine: median 33 µs, above 100 µs
/// in 1 % of cases).
const TIMER_LATENESS_NS: u64 = 90_000;
/// Maximum share of time spent busy-waiting for due times.
const MAX_SPIN_SHARE: f64 = 0.45;
/// Rate above which the loop does not wait busily, because it hardly sleeps anyway and requests need the CPU time.
const MAX_SPIN_RATE_PER_S: f64 = 20_000.0;

impl Core {
    /// Returns the latest time at which [`Core::advance`] must run next.
    pub(crate) fn next_ns(&self) -> u64 {
        let due = self.dues().filter(|_| !self.draining).map_or(u64::MAX, due_clock::DueClock::next_ns);
        self.timers.next().min(due)
    }

    /// Returns the time before [`Core::next_ns`] at which the loop should wake up, to compensate for late timers. The
    /// result is 0 unless requests have due times.
    pub(crate) fn early_ns(&self) -> u64 {
        match self.dues().map(due_clock::DueClock::rate) {
            Some(rate) if !self.draining && rate < MAX_SPIN_RATE_PER_S => {
                TIMER_LATENESS_NS.min((1e9 * MAX_SPIN_SHARE / rate.max(1e-9)) as u64)
            }
            _ => 0,
        }
    }

    /// Returns the clock of due requests or connects, if any.
    fn dues(&self) -> Option<&due_clock::DueClock> {
        match &self.mode {
            Mode::Open(pool) => Some(pool.dues()),
            Mode::SClients(d) => d.dues(),
            _ => None,
        }
    }

    /// Sets the rate of an open loop to `factor` times the planned rate from `now` on. Does nothing for other loads.
    pub(crate) fn change_rate(&mut self, now: u64, factor: f64) {
        if let Mode::Open(pool) = &mut self.mode
            && pool.dues.change_rate(now, factor)
        {
            pool.demand.plan(pool.dues.rate());
        }
    }
}
