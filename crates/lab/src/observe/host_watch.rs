//! CPU use of this machine during an experiment that measures how long event calls (such as epoll_wait) take. An
//! experiment on event calls has no generator or server to observe, but other programs may disturb it.

use probe::{Observer, Watching};
use run::{ObserverSpec, Side, Trial};
use sys::clock::Origin;

/// Seconds between samples. Loadline uses only the first and the last sample of a load test, and every sample disturbs
/// the measurement.
const INTERVAL_S: f64 = 5.0;
/// Counter sources that show the CPU use of other programs separately from our own.
const SOURCES: [&str; 2] = ["cpu", "process"];

/// Observer of this machine across load tests.
pub(crate) struct HostWatch {
    observer: Observer,
    active: Option<Watching>,
}

impl HostWatch {
    /// Starts observing.
    pub(crate) fn start() -> Self {
        let observer = Observer::new(ObserverSpec {
            host: "localhost".into(),
            processes: vec![std::process::id()],
            sources: Some(SOURCES.map(str::to_string).into()),
            ..ObserverSpec::default()
        });
        let mut watch = Self { observer, active: None };
        watch.restart();
        watch
    }

    /// Adds the observations since the last load test to `trial`, if `trial` has no observers of its own.
    pub(crate) fn record(&mut self, trial: &mut Trial) {
        let Some(watching) = self.active.take() else { return };
        watching.edge();
        let seen = watching.finish();
        if trial.client.recording.columns.is_empty() && trial.client.recording.absent.is_empty() {
            let host = self.observer.spec().host.clone();
            let (machine, processes) = (seen.machine, seen.processes);
            trial.client = Side { host, machine, processes, recording: seen.recording, ..Side::default() };
        }
        self.restart();
    }

    /// Starts the observer again. If this machine's counters cannot be read, the load test has no data about other
    /// programs.
    fn restart(&mut self) {
        self.active = self.observer.watch(&[], INTERVAL_S, Origin::after(std::time::Duration::ZERO)).ok();
        if let Some(watching) = &self.active {
            watching.edge();
        }
    }
}
