//! What the machine did while an experiment timed calls: no generator and no server is there to be observed, but other
//! programs disturb the calls all the same.

use probe::{Observer, Watching};
use run::{ObserverSpec, Side, Trial};
use sys::clock::Origin;

/// Seconds between samples: the first and the last of a trial are what counts, and each one disturbs what is timed.
const EVERY_S: f64 = 5.0;
/// What tells other programs from our own.
const SOURCES: [&str; 2] = ["cpu", "process"];

/// A watch over this machine, from one trial to the next.
pub(crate) struct HostWatch {
    observer: Observer,
    at_work: Option<Watching>,
}

impl HostWatch {
    /// Begins.
    pub(crate) fn start() -> Self {
        let observer = Observer::new(ObserverSpec {
            host: "localhost".into(),
            processes: vec![std::process::id()],
            sources: Some(SOURCES.map(str::to_string).into()),
            ..ObserverSpec::default()
        });
        let mut watch = Self { observer, at_work: None };
        watch.again();
        watch
    }

    /// Puts what was seen since the last trial into one that nothing was observed in.
    pub(crate) fn put(&mut self, trial: &mut Trial) {
        let Some(watching) = self.at_work.take() else { return };
        watching.edge();
        let seen = watching.finish();
        if trial.client.recording.columns.is_empty() && trial.client.recording.absent.is_empty() {
            let host = self.observer.spec().host.clone();
            let (machine, processes) = (seen.machine, seen.processes);
            trial.client = Side { host, machine, processes, recording: seen.recording, ..Side::default() };
        }
        self.again();
    }

    /// A machine that cannot be read is not watched: the trial then says nothing of other programs.
    fn again(&mut self) {
        self.at_work = self.observer.watch(&[], EVERY_S, Origin::after(std::time::Duration::ZERO)).ok();
        if let Some(watching) = &self.at_work {
            watching.edge();
        }
    }
}
