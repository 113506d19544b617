//! Decides when `perf` events are open. If the server's threads have few context switches, the `perf` events stay open.
//! If the server's threads have many context switches, `perf` events are open for short bursts only.
//!
//! Each open `perf` event slows down the context switches of its thread. With events that were always enabled, 16
//! threads that answered 70,000 requests per second lost 17 % of their throughput. With events that were open but
//! disabled, the threads lost 6 %. Both losses come from seven measurements each, with enabled and disabled events in
//! alternation.

/// CPU time that open perf events of a thread add to each context switch of the thread, nanoseconds. Measured: 130,000
/// context switches per second took 0.34 of a CPU more than without events.
const SWITCH_NS: u64 = 2600;
/// CPU time of a sample, nanoseconds: 37 to 52 µs, measured by getrusage on a virtual machine.
const SAMPLE_NS: u64 = 40_000;
/// Maximum share of a CPU that sampling may use.
const SHARE: f64 = 0.0024;
/// Length of a burst, nanoseconds.
const BURST_NS: u64 = 10_000_000;
/// Minimum and maximum of the CPU time that a thread uses between two samples of its stack in a burst, nanoseconds.
const BURST_PERIODS_NS: (u64, u64) = (200_000, 1_000_000);
/// Number of samples of each `perf` event in a burst, if the threads use all CPUs. A thread that uses less CPU time in
/// a burst than the time between two samples is not sampled. Because of threads with little CPU time, the time between
/// two samples must be a small part of the burst.
const SAMPLES_PER_EVENT: u64 = 2;
/// Time between two reads of the samples of a burst, nanoseconds. The kernel's buffer has space for 15 samples per CPU.
const BURST_LOOK_NS: u64 = 3_000_000;
/// Maximum time between two reads of the samples of `perf` events that stay open, nanoseconds.
pub(super) const LOOK_NS: u64 = 50_000_000;
/// Time between two checks of the cost of sampling while `perf` events stay open, nanoseconds.
const CHECK_NS: u64 = 1_000_000_000;
/// Longest pause between two bursts, and between two openings of `perf` events that stay open, nanoseconds.
const MAX_PAUSE_NS: u64 = 10_000_000_000;

/// State of the `perf` events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// All `perf` events are closed until `until_ns`.
    Closed { until_ns: u64 },
    /// The `perf` events are open for a burst, from `since_ns` to `until_ns`.
    Burst { since_ns: u64, until_ns: u64 },
    /// The `perf` events have been open since `since_ns`. The events are not closed and opened again before
    /// `kept_until_ns`.
    Open { since_ns: u64, kept_until_ns: u64 },
}

/// Costs of one period in which `perf` events were open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Time for which the perf events were open, nanoseconds.
    pub(super) open_ns: u64,
    /// Number of context switches of the sampled threads; `None` if the kernel does not count them.
    pub(super) switches: Option<u64>,
    pub(super) samples: u64,
    /// CPU time that opening and closing the `perf` events took, nanoseconds.
    pub(super) own_ns: u64,
}

impl Cost {
    /// Returns the CPU time that the `perf` events added to the server's context switches, nanoseconds. If the number
    /// of context switches is unknown, assumes one per 20 µs.
    fn of_server_ns(&self) -> u64 {
        self.switches.unwrap_or(self.open_ns / 20_000).saturating_mul(SWITCH_NS)
    }

    fn all_ns(&self) -> u64 {
        self.of_server_ns() + self.samples * SAMPLE_NS + self.own_ns
    }

    /// Returns true if `perf` events may stay open: they add at most half of the allowed CPU time to the server's
    /// context switches. Half of the allowed CPU time is left for samples.
    pub(super) fn allows_always(&self) -> bool {
        self.of_server_ns() as f64 <= SHARE / 2.0 * self.open_ns as f64
    }

    /// Returns the length of the pause after a burst, nanoseconds. The pause after a burst is so long that the sampling
    /// costs at most [`SHARE`] of a CPU, but never longer than [`MAX_PAUSE_NS`].
    pub(super) fn pause_ns(&self) -> u64 {
        Self::spread_ns(self.all_ns())
    }

    /// Returns the time for which `perf` events stay open before they are closed and opened again, nanoseconds. Opening
    /// and closing events then costs at most [`SHARE`] of a CPU, unless the time would exceed [`MAX_PAUSE_NS`].
    fn kept_ns(&self) -> u64 {
        Self::spread_ns(self.own_ns)
    }

    fn spread_ns(cost_ns: u64) -> u64 {
        ((cost_ns as f64 / SHARE) as u64).min(MAX_PAUSE_NS)
    }
}

impl State {
    /// Returns the state of a burst of sampling that begins now.
    pub(super) const fn burst(now_ns: u64) -> Self {
        Self::Burst { since_ns: now_ns, until_ns: now_ns + BURST_NS }
    }

    /// Returns the state of `perf` events that are opened now and stay open. `cost` is the cost of the last period in
    /// which they were open.
    pub(super) fn open(now_ns: u64, cost: &Cost) -> Self {
        Self::Open { since_ns: now_ns, kept_until_ns: now_ns + cost.kept_ns() }
    }

    /// Returns true if the `perf` events must be closed now, to find their cost. `is_incomplete` is true if a process
    /// has no events yet.
    pub(super) fn is_check_due(self, now_ns: u64, is_incomplete: bool) -> bool {
        match self {
            Self::Closed { .. } => false,
            Self::Burst { until_ns, .. } => now_ns >= until_ns,
            Self::Open { since_ns, kept_until_ns } => {
                now_ns >= kept_until_ns && (is_incomplete || now_ns >= since_ns + CHECK_NS)
            }
        }
    }

    /// Returns the time at which the samples must be read next, nanoseconds. `look_ns` is the time between two reads
    /// while the `perf` events stay open.
    pub(super) fn next_ns(self, now_ns: u64, look_ns: u64) -> u64 {
        match self {
            // Without a process to sample, the `perf` events stay closed after `until_ns`, so the next call is due a
            // little later than now.
            Self::Closed { until_ns } => until_ns.max(now_ns + BURST_LOOK_NS),
            Self::Burst { until_ns, .. } => until_ns.min(now_ns + BURST_LOOK_NS),
            Self::Open { .. } => now_ns + look_ns,
        }
    }
}

/// Returns the CPU time that a thread uses between two samples of its stack in a burst, nanoseconds. Each of the
/// `threads` threads has a `perf` event on each CPU.
pub(super) fn burst_period_ns(threads: usize) -> u64 {
    let (least, most) = BURST_PERIODS_NS;
    (BURST_NS / (SAMPLES_PER_EVENT * threads.max(1) as u64)).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_expensive_to_open_are_opened_rarely() {
        let open = |own_ns| State::open(0, &Cost { own_ns, ..Cost::default() });
        let (cheap, expensive) = (open(240_000), open(12_000_000));
        assert!(!cheap.is_check_due(CHECK_NS / 2, false) && cheap.is_check_due(CHECK_NS, false));
        assert!(!cheap.is_check_due(90_000_000, true) && cheap.is_check_due(100_000_000, true), "a new process");
        assert!(!expensive.is_check_due(4 * CHECK_NS, true) && expensive.is_check_due(5 * CHECK_NS, false));
        assert!(open(u64::MAX / 2).is_check_due(MAX_PAUSE_NS, false));
    }

    #[test]
    fn events_stay_open_only_on_threads_that_switch_rarely() {
        let cost = |switches_per_s: u64| Cost {
            open_ns: BURST_NS,
            switches: Some(switches_per_s * BURST_NS / 1_000_000_000),
            samples: 20,
            own_ns: 300_000,
        };
        assert!(cost(200).allows_always() && !cost(2000).allows_always());
        let busy = cost(130_000);
        let share = busy.all_ns() as f64 / (busy.pause_ns() + BURST_NS) as f64;
        assert!((0.002..=SHARE).contains(&share), "{share} of a CPU");
        assert!(!Cost { switches: None, ..cost(0) }.allows_always(), "unknown switches may be many");
    }
}
