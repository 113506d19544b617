//! When this host stood still: a thread that only sleeps looks how late it woke, as jHiccup does (G. Tene). Nothing but the
//! machine, its hypervisor or its scheduler can have held it up, so time of that kind is not the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::{clock, limits};

/// How long it sleeps.
const SLEEP_NS: u64 = 1_000_000;
/// A pause is at least this long: a busy scheduler alone wakes a thread later than a quiet one does.
const LEAST_NS: u64 = 2_000_000;
/// Most pauses that are kept: a machine that has more is no place to measure.
pub const MOST: usize = 10_000;

/// A time in which a thread that was due was not run, nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it was due.
    pub begin_ns: u64,
    /// When it woke.
    pub end_ns: u64,
}

impl Pause {
    /// How long it was, nanoseconds.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// The meter while it runs.
#[derive(Debug)]
pub struct HiccupMeter {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Pause>>,
}

impl HiccupMeter {
    /// Starts it. `None` where no thread can be had: then no pause is known.
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

    /// Ends it; the pauses it saw, the oldest first.
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
        if woke.saturating_sub(due) >= LEAST_NS && pauses.len() < MOST {
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
    fn who_wakes_late_was_held_up_and_who_wakes_in_time_was_not() {
        let (clock, sleeps) = (Cell::new(5_000_000_u64), Cell::new(0));
        let sleep = |until: u64| {
            sleeps.set(sleeps.get() + 1);
            // The tenth sleep is held up by 30 ms, the others by 0.1 ms.
            clock.set(until + if sleeps.get() == 10 { 30_000_000 } else { 100_000 });
        };
        let pauses = watch(|| clock.get(), sleep, || sleeps.get() >= 100);
        assert_eq!(pauses, [Pause { begin_ns: 15_900_000, end_ns: 45_900_000 }]);
    }

    #[test]
    fn a_live_meter_ends_when_it_is_told() {
        let meter = HiccupMeter::start().unwrap();
        assert!(meter.end().iter().all(|p| p.end_ns > p.begin_ns));
    }
}
