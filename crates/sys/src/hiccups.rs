//! Measures stalls of this host. A thread that only sleeps measures how late it wakes, as jHiccup by G. Tene does. If
//! the measuring thread wakes late, the cause is the machine, its hypervisor or its scheduler, and not a slow server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::{clock, limits};

/// Length of each sleep, nanoseconds.
const SLEEP_NS: u64 = 1_000_000;
/// Minimum length of a pause, nanoseconds. Delays of less than 2 ms also occur on a healthy machine with a busy
/// scheduler.
const MIN_PAUSE_NS: u64 = 2_000_000;
/// Maximum number of recorded pauses. If more pauses occur, the shortest ones are dropped.
pub const MAX_PAUSES: usize = 10_000;

/// Pause: a time in which the thread should have run but did not, in nanoseconds of the monotonic clock.
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
    /// Starts the thread that measures stalls. Returns `None` if no thread can be created.
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

/// Records pauses until the function `over` returns true. If there are too many pauses, the minimum length of a pause
/// is doubled and shorter pauses are dropped. Even in a run of several hours, the longest pauses are therefore kept.
fn watch(now: impl Fn() -> u64, sleep_until: impl Fn(u64), over: impl Fn() -> bool) -> Vec<Pause> {
    let (mut pauses, mut min_ns) = (Vec::<Pause>::new(), MIN_PAUSE_NS);
    while !over() {
        let due = now() + SLEEP_NS;
        sleep_until(due);
        let woke = now();
        if woke.saturating_sub(due) >= min_ns {
            pauses.push(Pause { begin_ns: due, end_ns: woke });
        }
        while pauses.len() > MAX_PAUSES {
            min_ns = min_ns.saturating_mul(2);
            pauses.retain(|pause| pause.ns() >= min_ns);
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

    /// The simulated machine pauses for 2 to 8 ms all the time, and sometimes for 40 ms. The test ends after ten times
    /// the maximum number of pauses.
    #[test]
    fn a_run_of_hours_keeps_its_long_pauses_until_its_end() {
        let (clock, sleeps) = (Cell::new(0_u64), Cell::new(0_u64));
        let long = |n: u64| n % 500 == 7;
        let sleep = |until: u64| {
            sleeps.set(sleeps.get() + 1);
            let late_ns = if long(sleeps.get()) { 40_000_000 } else { 2_000_000 + sleeps.get() % 7 * 1_000_000 };
            clock.set(until + late_ns);
        };
        let all = 10 * MAX_PAUSES as u64;
        let pauses = watch(|| clock.get(), sleep, || sleeps.get() >= all);
        assert!(pauses.len() <= MAX_PAUSES, "{}", pauses.len());
        let kept = pauses.iter().filter(|pause| pause.ns() == 40_000_000).count() as u64;
        assert_eq!(kept, (1..=all).filter(|n| long(*n)).count() as u64, "no long pause is lost");
        assert!(pauses.windows(2).all(|w| w[0].end_ns <= w[1].begin_ns), "oldest first");
    }

    #[test]
    fn a_running_meter_ends_on_request() {
        let meter = HiccupMeter::start().unwrap();
        assert!(meter.end().iter().all(|p| p.end_ns > p.begin_ns));
    }
}
