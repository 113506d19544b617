//! The observer of a host, which makes all readings on that host during a load test. The observer takes plain data
//! ([`run::ObserverSpec`]) and returns plain data ([`run::Observed`]). Plain data can be sent over a connection, so the
//! observer can also run in an agent on another machine.
//!
//! An [`Observer`] exists for a whole run (a series of load tests), and a [`Watching`] for one load test. Files stay
//! open between two load tests, because the first sample of a new probe opens hundreds of files. Opening files during a
//! load test would occupy a CPU for milliseconds, which would lengthen the measured latencies.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use run::{Incident, Observed, ObserverSpec};
use sys::clock::Origin;

use crate::process_watch::ProcessWatch;
use crate::processors;
use crate::sources::Exporter;
use crate::{Glance, Probe, SOURCES, Sampler, Scope, WaitSampler};

/// The observer of a host; see the module documentation.
#[derive(Clone)]
pub struct Observer {
    spec: ObserverSpec,
    kept: Arc<Mutex<Option<Probe>>>,
    /// Program files whose symbols were read. The files are kept for the next load tests, because reading a large file
    /// takes about 0.1 s.
    images: stacks::Images,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Observer {
    /// Creates an observer for a spec, but reads no counter yet.
    pub fn new(spec: ObserverSpec) -> Self {
        Self { spec, kept: Arc::default(), images: stacks::Images::new() }
    }

    /// Returns the observer's spec.
    pub fn spec(&self) -> &ObserverSpec {
        &self.spec
    }

    /// Starts to sample the processes of the spec and those in `more`, once every `interval_s` seconds. Times are
    /// counted from `origin`.
    pub fn watch(&self, more: &[u32], interval_s: f64, origin: Origin) -> io::Result<Watching> {
        let mut spec = self.spec.clone();
        spec.processes.extend(more);
        let life = ProcessWatch::new(&spec);
        let sampler = Sampler::start(self.probe(&spec), life, interval(interval_s), origin)?;
        let images = (!spec.no_stacks).then(|| self.images.clone());
        let waits = spec.waits.then(|| WaitSampler::start(spec.processes, spec.netns_pid, images)).transpose()?;
        Ok(Watching { sampler, waits, observer: self.clone() })
    }

    fn probe(&self, spec: &ObserverSpec) -> Probe {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept {
            Some(mut probe) => {
                probe.follow(&spec.processes);
                probe
            }
            None => Probe::new(scope(spec)),
        }
    }
}

/// Converts an observer's spec into the scope of a probe on this machine. Names of sources that do not exist are
/// ignored.
fn scope(spec: &ObserverSpec) -> Scope {
    let known = |names: &Vec<String>| {
        let wanted = |name: &&'static str| names.iter().any(|n| n == name);
        SOURCES.iter().map(|s| s.name).filter(wanted).collect()
    };
    Scope {
        netns_pid: spec.netns_pid,
        processes: spec.processes.clone(),
        listen: spec.listen.clone(),
        connect: spec.connect.clone(),
        counted: spec.counted.clone(),
        sources: spec.sources.as_ref().map(known),
        processors: spec.processors.clone(),
        ..Scope::default()
    }
}

/// Starts a sampler that reads only the given exporters, which provide counters of this process (see [`Exporter`]).
pub fn listen(exporters: Vec<Exporter>, interval_s: f64, origin: Origin) -> io::Result<Sampler> {
    Sampler::start(Probe::exported(exporters), ProcessWatch::default(), interval(interval_s), origin)
}

fn interval(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.01, 3600.0))
}

/// An observer during a load test. The observer samples until [`Watching::finish`].
pub struct Watching {
    sampler: Sampler,
    waits: Option<WaitSampler>,
    observer: Observer,
}

impl Watching {
    /// Takes a full sample (of all sources) now. Returns the time of the sample in seconds since the origin (time zero)
    /// of the load test.
    pub fn edge(&self) -> f64 {
        self.waits.iter().for_each(WaitSampler::edge);
        self.sampler.edge()
    }

    /// Returns the incidents so far, such as the end of a process.
    pub fn incidents(&self) -> Vec<Incident> {
        self.sampler.incidents()
    }

    /// Returns the newest samples: see [`Sampler::glance`].
    pub fn glance(&self) -> Option<Observed> {
        let Glance { mut recording, processes } = self.sampler.glance()?;
        processors::only(&mut recording, &self.observer.spec.processors);
        Some(Observed {
            recording,
            processes,
            machine: self.machine(),
            page_bytes: page_bytes(),
            ..Observed::default()
        })
    }

    /// Returns all samples so far, while sampling continues: see [`Sampler::so_far`].
    pub fn so_far(&self) -> Option<Observed> {
        let mut seen = self.sampler.so_far()?;
        processors::only(&mut seen.recording, &self.observer.spec.processors);
        let waits = self.waits.as_ref().map(|waits| Box::new(waits.so_far()));
        Some(Observed { machine: self.machine(), page_bytes: page_bytes(), waits, ..seen })
    }

    /// Returns a name for the CPUs whose time the counters `cpu.*` count (see [`run::Side::machine`]).
    pub fn machine(&self) -> String {
        processors::machine(&self.observer.spec.processors)
    }

    /// Stops sampling and returns all data.
    pub fn finish(self) -> Observed {
        let cpus = &self.observer.spec.processors;
        let waits = self.waits.map(|waits| Box::new(waits.finish()));
        let Some(mut end) = self.sampler.finish_keeping() else { return Observed::default() };
        processors::only(&mut end.recording, cpus);
        let (processes, machine) = (end.probe.processes(), processors::machine(cpus));
        let behind = end.probe.behind();
        *self.observer.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(end.probe);
        Observed {
            recording: end.recording,
            processes,
            machine,
            page_bytes: page_bytes(),
            behind,
            incidents: end.incidents,
            waits,
            cpu_use: end.cpu_use,
            ..Observed::default()
        }
    }
}

/// Returns the size of a page of memory on this host, bytes.
fn page_bytes() -> Option<u32> {
    u32::try_from(sys::param::page_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_observer_records_several_trials() {
        let sources = Some(vec!["process".to_string(), "observer".into(), "no such source".into()]);
        let observer = Observer::new(ObserverSpec { sources, ..ObserverSpec::default() });
        for _ in 0..2 {
            let watching = observer.watch(&[std::process::id()], 0.01, Origin::after(Duration::ZERO)).unwrap();
            let edges = (watching.edge(), watching.edge());
            let seen = watching.finish();
            assert!(edges.0 < edges.1 && seen.recording.t_s.contains(&edges.1), "{edges:?}");
            // Concurrent tests start other children of this process, so the test counts only instances with this
            // process's ID.
            let me = format!(":{}", std::process::id());
            assert_eq!(seen.processes.iter().filter(|p| p.ends_with(&me)).count(), 1, "{:?}", seen.processes);
            assert!(!seen.machine.is_empty() && seen.incidents.is_empty());
            assert!(
                seen.page_bytes.is_some_and(|bytes| bytes >= 4096 && bytes.is_power_of_two()),
                "{:?}",
                seen.page_bytes
            );
        }
        assert!(observer.kept.lock().unwrap().is_some(), "its files stay open");
    }
}
