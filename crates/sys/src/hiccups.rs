//! Stalls of this host. A thread that only sleeps measures how late it wakes, as jHiccup by G. Tene does. Only the
//! machine, its hypervisor or its scheduler can cause these delays, so they are not the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::{clock, limits};

/// Length of each sleep.
const SLEEP_NS: u64 = 1_000_000;
/// Minimum length of a pause. Shorter delays also occur on a healthy machine with a busy scheduler.
const MIN_PAUSE_NS: u64 = 2_000_000;
/// Maximum number of recorded pauses. A machine with more pauses is unsuitable for measurements.
pub const MAX_PAUSES: usize = 10_000;

/// A span in which the thread should have run and did not, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Time at which the thread should have woken.
    pub begin_ns: u64,
    /// Time at which the thread woke.
    pub end_ns: u64,
}

impl Pause {
    /// Returns the length in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// A running thread that measures stalls.
#[derive(Debug)]
pub struct HiccupMeter {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Pause>>,
}

impl HiccupMeter {
    /// Starts the meter. Returns `None` if no thread can be created.
    pub fn start() -> Option<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let body = move || {
            let _ = limits::exact_timers();
            watch(clock::monotonic_ns, clock::sleep_until_ns, || told.load(Ordering::Relaxed))
        };
        let thread = std::thread::Builder::new().name("hiccups".into()).spawn(body).ok()?;
        Some(Self { over, thread })
    }

    /// Stops the meter and returns its pauses, oldest first.
    pub fn end(self) -> Vec<Pause> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(now: impl Fn() -> u64, sleep_until: impl Fn(u64), over: impl Fn() -> bool) -> Vec<Pause> {
    let mut pauses = Vec::new();
    while !over() {
        let due = now() + SLEEP_NS;
        sleep_until(due);
        let woke = now();
        if woke.saturating_sub(due) >= MIN_PAUSE_NS && pauses.len() < MAX_PAUSES {
            pauses.push(Pause { begin_ns: due, end_ns: woke });
        }
    }
    pauses
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn only_a_late_wake_up_is_a_pause() {
        let (clock, sleeps) = (Cell::new(5_000_000_u64), Cell::new(0));
        let sleep = |until: u64| {
            sleeps.set(sleeps.get() + 1);
            // The tenth sleep ends 30 ms late, and all others end 0.1 ms late.
            clock.set(until + if sleeps.get() == 10 { 30_000_000 } else { 100_000 });
        };
        let pauses = watch(|| clock.get(), sleep, || sleeps.get() >= 100);
        assert_eq!(pauses, [Pause { begin_ns: 15_900_000, end_ns: 45_900_000 }]);
    }

    #[test]
    fn a_running_meter_ends_on_request() {
        let meter = HiccupMeter::start().unwrap();
        assert!(meter.end().iter().all(|p| p.end_ns > p.begin_ns));
    }
}
