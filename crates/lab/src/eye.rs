//! The sampler of one side during one trial, and its probe between two of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use probe::{Probe, Sampler, Scope};
use run::Side;

/// A probe between two trials. Its files stay open: a new probe opens hundreds of files in its first sample, which holds
/// a processor for milliseconds that the trial would see in its percentiles.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Option<Probe>>>);

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

impl Kept {
    /// Starts the sampler of a side; its probe comes back here at the end.
    pub(crate) fn open(&self, scope: Scope, host: &str, shared: bool, begin: Instant, interval_s: f64) -> Option<Eye> {
        let until_begin = begin.saturating_duration_since(Instant::now()).as_nanos() as u64;
        let since_begin = Instant::now().saturating_duration_since(begin).as_nanos() as u64;
        let origin_ns = sys::clock::monotonic_ns() + until_begin - since_begin;
        let interval = Duration::from_secs_f64(interval_s.clamp(0.01, 3600.0));
        let sampler = Sampler::start(self.take(scope), interval, origin_ns).ok()?;
        Some(Eye { sampler, host: host.into(), shared, kept: self.clone() })
    }

    fn take(&self, scope: Scope) -> Probe {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(mut probe) => {
                probe.follow(&scope.processes);
                probe
            }
            None => Probe::new(scope),
        }
    }

    fn put(&self, probe: Probe) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(probe);
    }
}

/// The running sampler of one side.
pub(crate) struct Eye {
    sampler: Sampler,
    host: String,
    shared: bool,
    kept: Kept,
}

impl Eye {
    /// Takes a sample now and returns its time, seconds since the trial's origin.
    pub(crate) fn edge(&self) -> f64 {
        self.sampler.edge()
    }

    /// Ends the sampler and hands out what it recorded.
    pub(crate) fn side(self) -> Side {
        let (recording, processes) = match self.sampler.finish_keeping() {
            Some((recording, probe)) => {
                let processes = probe.processes();
                self.kept.put(probe);
                (recording, processes)
            }
            None => Default::default(),
        };
        Side { host: self.host, processes, shared: self.shared, recording, ..Side::default() }
    }
}
