//! The sampler's thread, which takes the samples.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use run::Observed;
use sys::clock::Origin;

use super::queue::{Glance, SamplerQueue};
use crate::Probe;
use crate::cpu_use;
use crate::process_watch::ProcessWatch;

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
pub(super) const SHOWN_ROWS: usize = 4;

/// State of the sampler's thread.
pub(super) struct SamplerThread {
    pub(super) probe: Probe,
    pub(super) life: ProcessWatch,
    pub(super) queue: Arc<SamplerQueue>,
    pub(super) interval_ns: u64,
    pub(super) origin: Origin,
}

impl SamplerThread {
    pub(super) fn work(mut self) -> (Probe, ProcessWatch) {
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
                self.take_edge(asked);
                self.show();
            } else if now >= due {
                drop(orders);
                slot = self.series(slot, due);
                due = moment_in(slot, self.interval_ns);
                self.show();
            } else if now >= cpu_due {
                drop(orders);
                let reads = self.probe.read_cpu_use(self.origin);
                cpu_due = if reads { now + cpu_use::INTERVAL_NS } else { u64::MAX };
            } else if orders.copy_wanted {
                drop(orders);
                self.hand_over_copy();
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

    /// Takes a full sample, which answers the first `asked` requests for a full sample.
    fn take_edge(&mut self, asked: u64) {
        let t_s = self.origin.now_s();
        self.probe.sample(t_s);
        self.probe.read_cpu_use(self.origin);
        let mut orders = self.queue.lock();
        (orders.taken, orders.edge_s) = (asked, t_s);
        self.queue.changed.notify_all();
    }

    /// Copies all samples for the caller that asked for a copy.
    fn hand_over_copy(&self) {
        let copy = self.copy();
        let mut orders = self.queue.lock();
        (orders.copy, orders.copy_wanted) = (Some(copy), false);
        self.queue.changed.notify_all();
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
    pub(super) fn series(&mut self, slot: u64, due: u64) -> u64 {
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
pub(super) fn moment_in(slot: u64, interval_ns: u64) -> u64 {
    slot + fastrand::u64(0..=interval_ns / 2)
}
