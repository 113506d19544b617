//! Requests to the sampler's thread, and the thread's answers.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use run::{Incident, Observed, Recording};

/// Requests to the sampler's thread, and the thread's answers.
#[derive(Debug, Default)]
pub(super) struct SamplerRequests {
    /// Number of samples at phase starts and ends that were requested so far.
    pub(super) asked: u64,
    /// Number of requested samples at phase starts and ends that were taken so far.
    pub(super) taken: u64,
    /// Time of the last requested sample, in seconds since the origin (time zero) of the load test.
    pub(super) edge_s: f64,
    pub(super) stop: bool,
    /// Incidents so far, such as the end of a process.
    pub(super) incidents: Vec<Incident>,
    /// True once a live view has asked for samples. After a live view has asked for samples, each new sample is
    /// published in `shown`.
    pub(super) looked_at: bool,
    pub(super) shown: Option<Glance>,
    /// True while a copy of all samples is requested. The sampler's thread puts the samples into `copy`.
    pub(super) copy_wanted: bool,
    pub(super) copy: Option<Observed>,
}

/// The newest samples, for live views during sampling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance {
    /// The newest samples (at most four) of the counters that show how close resources are to their limits.
    pub recording: Recording,
    /// Instances `name:pid` of the followed processes.
    pub processes: Vec<String>,
}

/// Requests that the sampler and its thread share.
#[derive(Debug, Default)]
pub(super) struct SamplerQueue {
    pub(super) orders: Mutex<SamplerRequests>,
    pub(super) changed: Condvar,
}

impl SamplerQueue {
    pub(super) fn lock(&self) -> MutexGuard<'_, SamplerRequests> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
