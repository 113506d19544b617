//! A thread that samples at a fixed interval, and exactly at the edges of phases when it is told so.
//!
//! Times of the series are absolute (origin + k · interval), so a late sample does not push the later ones. A sample
//! that begins later than half an interval after its time is counted in `probe.late`, as is each one that was missed.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use run::Recording;

use crate::Probe;

/// What the thread is asked for and what it answered.
#[derive(Debug, Default)]
struct Orders {
    /// Edges asked for and edges taken.
    asked: u64,
    taken: u64,
    /// Time of the last edge, seconds since the origin.
    edge_s: f64,
    stop: bool,
}

#[derive(Debug, Default)]
struct Desk {
    orders: Mutex<Orders>,
    changed: Condvar,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the head of this file.
pub struct Sampler {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<Probe>>,
    origin_ns: u64,
}

impl Sampler {
    /// Starts sampling. `origin_ns` is the origin of the trial on the monotonic clock (`sys::clock::monotonic_ns`):
    /// times of samples are seconds since it.
    pub fn start(probe: Probe, interval: Duration, origin_ns: u64) -> std::io::Result<Self> {
        let desk = Arc::new(Desk::default());
        let theirs = Arc::clone(&desk);
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1_000_000);
        let work = move || Clerk { probe, desk: theirs, interval_ns, origin_ns }.work();
        let thread = std::thread::Builder::new().name("loadline-probe".into()).spawn(work)?;
        Ok(Self { desk, thread: Some(thread), origin_ns })
    }

    /// Takes a full sample now and returns when it is taken: its time, in seconds since the origin, which is a moment
    /// between the call and the return.
    pub fn edge(&self) -> f64 {
        let mut orders = self.desk.lock();
        orders.asked += 1;
        let mine = orders.asked;
        self.desk.changed.notify_all();
        while orders.taken < mine {
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                // Only a defect of a source ends the thread; a time is still owed to the caller.
                return seconds(self.origin_ns, sys::clock::monotonic_ns());
            }
            let wait = self.desk.changed.wait_timeout(orders, Duration::from_millis(50));
            orders = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        orders.edge_s
    }

    /// Ends sampling and hands out the recording. No sample is added: take an [`Sampler::edge`] first if one is due.
    pub fn finish(self) -> Recording {
        self.finish_keeping().map(|(recording, _)| recording).unwrap_or_default()
    }

    /// As [`Sampler::finish`], and gives the probe back for the next trial: its files stay open.
    pub fn finish_keeping(mut self) -> Option<(Recording, Probe)> {
        self.stop();
        let mut probe = self.thread.take()?.join().ok()?;
        Some((probe.take(), probe))
    }

    fn stop(&self) {
        self.desk.lock().stop = true;
        self.desk.changed.notify_all();
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the thread owns.
struct Clerk {
    probe: Probe,
    desk: Arc<Desk>,
    interval_ns: u64,
    origin_ns: u64,
}

impl Clerk {
    fn work(mut self) -> Probe {
        let mut due = sys::clock::monotonic_ns();
        loop {
            let desk = Arc::clone(&self.desk);
            let mut orders = desk.lock();
            if orders.stop {
                return self.probe;
            }
            let now = sys::clock::monotonic_ns();
            if orders.taken < orders.asked {
                // All who asked until now are served by one sample.
                let asked = orders.asked;
                drop(orders);
                let t_s = seconds(self.origin_ns, sys::clock::monotonic_ns());
                self.probe.sample(t_s);
                let mut orders = desk.lock();
                (orders.taken, orders.edge_s) = (asked, t_s);
                desk.changed.notify_all();
            } else if now >= due {
                drop(orders);
                due = self.series(due);
            } else {
                let wait = Duration::from_nanos(due - now);
                orders = desk.changed.wait_timeout(orders, wait).unwrap_or_else(PoisonError::into_inner).0;
                drop(orders);
            }
        }
    }

    /// Takes the sample that was due and says when the next one is.
    fn series(&mut self, due: u64) -> u64 {
        let now = sys::clock::monotonic_ns();
        let behind = now.saturating_sub(due);
        let missed = behind / self.interval_ns;
        let late = u64::from(behind % self.interval_ns > self.interval_ns / 2);
        self.probe.add_late(missed + late);
        self.probe.sample_series(seconds(self.origin_ns, now));
        due + (missed + 1) * self.interval_ns
    }
}

fn seconds(origin_ns: u64, now_ns: u64) -> f64 {
    (i128::from(now_ns) - i128::from(origin_ns)) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn sampler(interval_ms: u64, origin_ns: u64) -> Sampler {
        let probe = Probe::new(Scope { sources: Some(vec!["cpu", "observer"]), ..Scope::default() });
        Sampler::start(probe, Duration::from_millis(interval_ms), origin_ns).unwrap()
    }

    #[test]
    fn edges_are_samples_at_times_between_call_and_return() {
        let origin = sys::clock::monotonic_ns();
        let sampler = sampler(10_000, origin);
        let before = seconds(origin, sys::clock::monotonic_ns());
        let edges = [sampler.edge(), sampler.edge()];
        let after = seconds(origin, sys::clock::monotonic_ns());
        assert!(before <= edges[0] && edges[0] < edges[1] && edges[1] <= after, "{before} {edges:?} {after}");
        let (recording, _probe) = sampler.finish_keeping().unwrap();
        assert!(edges.iter().all(|t| recording.t_s.contains(t)), "{:?}", recording.t_s);
        let column = recording.column("cpu.online", "").unwrap();
        assert!(column.values.iter().all(Option::is_some));
    }

    #[test]
    fn the_series_goes_on_by_itself_and_the_probe_counts_it() {
        let sampler = sampler(5, sys::clock::monotonic_ns());
        std::thread::sleep(Duration::from_millis(60));
        let r = sampler.finish();
        assert!(r.t_s.len() >= 2 && r.t_s.windows(2).all(|w| w[0] < w[1]), "{:?}", r.t_s);
        let samples = r.column("probe.samples", "").unwrap();
        assert_eq!(samples.values.last().copied().flatten(), Some(r.t_s.len() as f64));
    }

    #[test]
    fn missed_samples_are_counted_and_do_not_push_the_next() {
        let probe = Probe::new(Scope { sources: Some(vec!["observer"]), ..Scope::default() });
        let now = sys::clock::monotonic_ns();
        let mut clerk = Clerk { probe, desk: Arc::default(), interval_ns: 1_000_000_000, origin_ns: now };
        // Due 2.7 intervals ago: two were missed, and this one is late.
        let due = now - 2_700_000_000;
        assert_eq!(clerk.series(due), due + 3_000_000_000);
        assert_eq!(clerk.probe.observed().late, 3);
    }
}
