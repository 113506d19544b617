//! A thread that samples at regular intervals and, on request, exactly at the start or end of a phase (such as the
//! measurement).
//!
//! The thread takes each regular sample at a random moment in the first half of its interval. If a server works
//! periodically, samples at fixed moments would always find it in the same state. Intervals begin at absolute times
//! (start of the thread + k · interval), so a late sample does not delay later samples. `probe.late` counts each missed
//! sample, and each sample that starts more than half an interval late. Between regular samples, the thread reads the
//! CPU time of the host and of the processes ten times per second ([`crate::cpu_use`]).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use run::{CpuUse, Incident, Observed, Recording};
use sys::clock::Origin;

use crate::Probe;
use crate::cpu_use;
use crate::process_watch::ProcessWatch;

/// Requests to the sampler's thread, and the thread's answers.
#[derive(Debug, Default)]
struct SamplerRequests {
    /// Number of samples at phase starts and ends that were requested so far.
    asked: u64,
    /// Number of requested samples at phase starts and ends that were taken so far.
    taken: u64,
    /// Time of the last requested sample, in seconds since the origin (time zero) of the load test.
    edge_s: f64,
    stop: bool,
    /// Incidents so far, such as the end of a process.
    incidents: Vec<Incident>,
    /// True once a live view has asked for samples. After a live view has asked for samples, each new sample is
    /// published in `shown`.
    looked_at: bool,
    shown: Option<Glance>,
    /// True while a copy of all samples is requested. The sampler's thread puts the samples into `copy`.
    copy_wanted: bool,
    copy: Option<Observed>,
}

/// The newest samples, for live views during sampling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance {
    /// The newest samples (at most four) of the counters that show how close resources are to their limits.
    pub recording: Recording,
    /// Instances `name:pid` of the followed processes.
    pub processes: Vec<String>,
}

/// Counters that are published for live views, about the use of resources and their limits.
const SHOWN_COUNTERS: &[&str] = &[
    "cpu.user",
    "cpu.system",
    "cpu.irq",
    "cpu.softirq",
    "cpu.iowait",
    "cpu.steal",
    "cpu.idle",
    "cpu.online",
    "process.cpu",
    "process.rss",
    "process.fds",
    "process.fd_limit",
    "thread.cpu",
    "disk.busy",
    "interface.rx_bytes",
    "interface.tx_bytes",
    "interface.speed",
    "listen.queue",
    "listen.limit",
    "cgroup.memory",
    "cgroup.limited_memory",
    "cgroup.memory_limit",
    "conntrack.entries",
    "conntrack.limit",
];
/// Maximum number of published samples. A live view computes its figures over the three intervals between the published
/// samples.
const SHOWN_ROWS: usize = 4;

#[derive(Debug, Default)]
struct SamplerQueue {
    orders: Mutex<SamplerRequests>,
    changed: Condvar,
}

impl SamplerQueue {
    fn lock(&self) -> MutexGuard<'_, SamplerRequests> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sampler; see the module documentation.
pub struct Sampler {
    queue: Arc<SamplerQueue>,
    thread: Option<JoinHandle<(Probe, ProcessWatch)>>,
    origin: Origin,
}

/// Everything that a sampler returns at its end.
pub struct Ended {
    /// Recorded samples of the counters.
    pub recording: Recording,
    /// Incidents, such as the end of a process.
    pub incidents: Vec<Incident>,
    /// The probe with its open files, for the next load test.
    pub probe: Probe,
    /// CPU times of the host and of the processes.
    pub cpu_use: CpuUse,
}

impl Sampler {
    /// Starts to take samples and to watch the processes. Times are in seconds since the origin (time zero) of the load
    /// test.
    pub fn start(probe: Probe, life: ProcessWatch, interval: Duration, origin: Origin) -> std::io::Result<Self> {
        let orders = SamplerRequests { incidents: life.incidents().to_vec(), ..SamplerRequests::default() };
        let queue = Arc::new(SamplerQueue { orders: Mutex::new(orders), ..SamplerQueue::default() });
        let theirs = Arc::clone(&queue);
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1_000_000);
        let work = move || SamplerThread { probe, life, queue: theirs, interval_ns, origin }.work();
        let thread = std::thread::Builder::new().name("loadline-probe".into()).spawn(work)?;
        Ok(Self { queue, thread: Some(thread), origin })
    }

    /// Takes a full sample (of all sources) now. Returns the time of the sample in seconds since the origin (time zero)
    /// of the load test. The returned time lies between the call of `edge` and its return.
    pub fn edge(&self) -> f64 {
        let mut orders = self.queue.lock();
        orders.asked += 1;
        let mine = orders.asked;
        self.queue.changed.notify_all();
        while orders.taken < mine {
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                // Only a bug in a source ends the thread early. The caller needs a sample time even if the sampler's
                // thread has ended.
                return self.origin.now_s();
            }
            let wait = self.queue.changed.wait_timeout(orders, Duration::from_millis(50));
            orders = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        orders.edge_s
    }

    /// Returns the incidents so far, such as the end of a process.
    pub fn incidents(&self) -> Vec<Incident> {
        self.queue.lock().incidents.clone()
    }

    /// Returns the newest samples. From the first call on, the sampler publishes a few counters after each sample.
    /// Returns `None` until the first sample after the first call.
    pub fn glance(&self) -> Option<Glance> {
        let mut orders = self.queue.lock();
        orders.looked_at = true;
        orders.shown.clone()
    }

    /// Copies all samples so far, while sampling continues. The caller must add the machine's name to the copy. Returns
    /// `None` if the thread has ended.
    pub fn so_far(&self) -> Option<Observed> {
        let mut orders = self.queue.lock();
        orders.copy_wanted = true;
        self.queue.changed.notify_all();
        while orders.copy_wanted {
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return None;
            }
            let wait = self.queue.changed.wait_timeout(orders, Duration::from_millis(50));
            orders = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        orders.copy.take()
    }

    /// Stops sampling and returns the recording. Takes no sample at the stop. If a last sample is needed, call
    /// [`Sampler::edge`] before this method.
    pub fn finish(self) -> Recording {
        self.finish_keeping().map(|ended| ended.recording).unwrap_or_default()
    }

    /// Stops as [`Sampler::finish`] does, and returns all data. Returns `None` if the thread panicked.
    pub fn finish_keeping(mut self) -> Option<Ended> {
        self.stop();
        let (mut probe, life) = self.thread.take()?.join().ok()?;
        let (recording, cpu_use) = (probe.take(), probe.take_cpu_use());
        Some(Ended { recording, incidents: life.finish(self.origin.now_s()), probe, cpu_use })
    }

    fn stop(&self) {
        self.queue.lock().stop = true;
        self.queue.changed.notify_all();
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

/// State of the sampler's thread.
struct SamplerThread {
    probe: Probe,
    life: ProcessWatch,
    queue: Arc<SamplerQueue>,
    interval_ns: u64,
    origin: Origin,
}

impl SamplerThread {
    fn work(mut self) -> (Probe, ProcessWatch) {
        let mut slot = sys::clock::monotonic_ns();
        let mut due = slot;
        let mut cpu_due = slot;
        loop {
            let queue = Arc::clone(&self.queue);
            let mut orders = queue.lock();
            if orders.stop {
                return (self.probe, self.life);
            }
            let now = sys::clock::monotonic_ns();
            if orders.taken < orders.asked {
                // One sample answers all requests for a sample that have arrived so far.
                let asked = orders.asked;
                drop(orders);
                let t_s = self.origin.now_s();
                self.probe.sample(t_s);
                self.probe.read_cpu_use(t_s);
                let mut orders = queue.lock();
                (orders.taken, orders.edge_s) = (asked, t_s);
                queue.changed.notify_all();
                drop(orders);
                self.show();
            } else if now >= due {
                drop(orders);
                slot = self.series(slot, due);
                due = moment_in(slot, self.interval_ns);
                self.show();
            } else if now >= cpu_due {
                drop(orders);
                let reads = self.probe.read_cpu_use(self.origin.s_at(now));
                cpu_due = if reads { now + cpu_use::INTERVAL_NS } else { u64::MAX };
            } else if orders.copy_wanted {
                drop(orders);
                let copy = self.copy();
                let mut orders = queue.lock();
                (orders.copy, orders.copy_wanted) = (Some(copy), false);
                queue.changed.notify_all();
            } else if now >= self.life.due_ns() {
                drop(orders);
                self.look(now);
            } else {
                let wait = Duration::from_nanos(due.min(cpu_due).min(self.life.due_ns()) - now);
                orders = queue.changed.wait_timeout(orders, wait).unwrap_or_else(PoisonError::into_inner).0;
                drop(orders);
            }
        }
    }

    /// Publishes the newest samples if a live view has asked for samples.
    fn show(&self) {
        if self.queue.lock().looked_at {
            let recording = self.probe.newest(SHOWN_ROWS, SHOWN_COUNTERS);
            let shown = Some(Glance { recording, processes: self.probe.processes() });
            self.queue.lock().shown = shown;
        }
    }

    fn copy(&self) -> Observed {
        let (recording, processes, behind) = (self.probe.copy(), self.probe.processes(), self.probe.behind());
        Observed { recording, processes, behind, incidents: self.life.incidents().to_vec(), ..Observed::default() }
    }

    fn look(&mut self, now: u64) {
        if self.life.look(self.origin.s_at(now), now) {
            self.queue.lock().incidents = self.life.incidents().to_vec();
        }
    }

    /// Takes the sample that is due in the interval that began at `slot`. Returns the start of the next interval.
    fn series(&mut self, slot: u64, due: u64) -> u64 {
        let now = sys::clock::monotonic_ns();
        let behind = now.saturating_sub(due);
        let missed = behind / self.interval_ns;
        let late = u64::from(behind % self.interval_ns > self.interval_ns / 2);
        self.probe.add_late(missed + late);
        self.probe.sample_series(self.origin.s_at(now));
        slot + (missed + 1) * self.interval_ns
    }
}

/// Returns a random moment in the first half of the interval that begins at `slot`, nanoseconds.
fn moment_in(slot: u64, interval_ns: u64) -> u64 {
    slot + fastrand::u64(0..=interval_ns / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn sampler(interval_ms: u64, origin: Origin) -> Sampler {
        let probe = Probe::new(Scope { sources: Some(vec!["cpu", "observer"]), ..Scope::default() });
        Sampler::start(probe, ProcessWatch::default(), Duration::from_millis(interval_ms), origin).unwrap()
    }

    #[test]
    fn edges_are_samples_at_times_between_call_and_return() {
        let origin = Origin::after(Duration::ZERO);
        let sampler = sampler(10_000, origin);
        let before = origin.now_s();
        let edges = [sampler.edge(), sampler.edge()];
        let after = origin.now_s();
        assert!(before <= edges[0] && edges[0] < edges[1] && edges[1] <= after, "{before} {edges:?} {after}");
        let recording = sampler.finish();
        assert!(edges.iter().all(|t| recording.t_s.contains(t)), "{:?}", recording.t_s);
        let column = recording.column("cpu.online", "").unwrap();
        assert!(column.values.iter().all(Option::is_some));
    }

    #[test]
    fn the_series_continues_without_requests_and_counts_its_samples() {
        let sampler = sampler(5, Origin::after(Duration::ZERO));
        let two = |all: &run::Recording| all.t_s.len() >= 2;
        let so_far = testkit::eventually(|| Some(sampler.so_far().unwrap().recording).filter(two));
        let r = sampler.finish();
        assert!(!so_far.t_s.is_empty() && r.t_s.starts_with(&so_far.t_s), "{:?} {:?}", so_far.t_s, r.t_s);
        assert!(r.t_s.len() >= 2 && r.t_s.windows(2).all(|w| w[0] < w[1]), "{:?}", r.t_s);
        // A sample leaves out a source if the previous reading of this source took long.
        let samples = r.column("probe.samples", "").unwrap().values.iter().zip(1..);
        let last = samples.filter_map(|(count, row)| count.map(|count| (count, row))).last();
        assert!(last.is_some_and(|(count, row)| count == f64::from(row)), "{last:?}");
    }

    #[test]
    fn a_live_view_gets_the_newest_samples_without_disturbing_them() {
        let sampler = sampler(60_000, Origin::after(Duration::ZERO));
        assert_eq!(sampler.glance(), None, "nobody looked yet, so nothing was copied");
        (0..6).for_each(|_| assert!(sampler.edge() >= 0.0));
        // `edge` may return before the sampler's thread has published the samples.
        let full = |shown: &Glance| shown.recording.t_s.len() == SHOWN_ROWS;
        let shown = testkit::eventually(|| sampler.glance().filter(full)).recording;
        let recording = sampler.finish();
        assert!(shown.t_s.iter().all(|t| recording.t_s.contains(t)), "{shown:?}");
        assert!(shown.column("cpu.idle", "total").unwrap().values.iter().all(Option::is_some));
    }

    #[test]
    fn missed_samples_are_counted_and_do_not_delay_the_next() {
        let probe = Probe::new(Scope { sources: Some(vec!["observer"]), ..Scope::default() });
        let now = sys::clock::monotonic_ns();
        let (life, queue, origin) = (ProcessWatch::default(), Arc::default(), Origin::at_ns(now));
        let mut thread = SamplerThread { probe, life, queue, interval_ns: 10_000_000_000, origin };
        // The sample was due 2.7 intervals ago, so two samples were missed, and this sample is late.
        let due = now - 27_000_000_000;
        assert_eq!(thread.series(due, due), due + 30_000_000_000);
        assert_eq!(thread.probe.effort().late, 3);
    }

    /// An earlier version of loadline took a sample exactly every 500 ms. With fixed intervals, a server that accepts
    /// connections every 50 ms always seemed to be in the same state.
    #[test]
    fn moments_are_not_in_step_with_a_periodic_server() {
        let (interval_ns, period_ns) = (500_000_000, 50_000_000);
        let seen = (0..1000).map(|k| moment_in(k * interval_ns, interval_ns) % period_ns);
        let early = seen.filter(|phase| *phase < period_ns / 2).count();
        assert!((400..=600).contains(&early), "{early} of 1000 in the first half of the period");
    }
}
