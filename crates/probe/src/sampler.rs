//! A thread that samples at regular intervals and, on request, exactly at the start or end of a phase (such as the
//! measurement).
//!
//! The thread takes each regular sample at a random moment in the first half of its interval. If a server works
//! periodically, samples at fixed moments would always find it in the same state. Intervals begin at absolute times
//! (start of the thread + k · interval), so a late sample does not delay later samples. `probe.late` counts each missed
//! sample, and each sample that starts more than half an interval late. Between regular samples, the thread reads the
//! CPU time of the host and of the processes ten times per second ([`crate::cpu_use`]).

mod queue;
mod thread;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use run::{CpuUse, Incident, Observed, Recording};
use sys::clock::Origin;

use crate::Probe;
use crate::process_watch::ProcessWatch;

pub use queue::Glance;
use queue::{SamplerQueue, SamplerRequests};
use thread::SamplerThread;

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

#[cfg(test)]
mod tests;
