//! A run while it grows: conducts trials one after another, keeps each in the run and its directory, and knows when the
//! user wants to stop. `find`, `load` and the experiments are written on top of this.

use std::path::{Path, PathBuf};
use std::time::Instant;

use run::{FORMAT, HostInfo, Note, Plan, Run, RunDir, Tally, Trial};

use crate::cold::Cold;
use crate::conduct::{self, Ended, Load, Stage};
use crate::eyes::{Scene, Watched};
use crate::{LabError, Local, Point, Watch};

/// A run while it grows.
pub struct Lab<'w> {
    /// What it came to so far.
    pub run: Run,
    dir: Option<RunDir>,
    program: PathBuf,
    watch: &'w mut dyn Watch,
    began: Instant,
    stopped: bool,
    descriptors: u64,
    /// Single requests outside of trials; they count in the next trial that is kept.
    single: Tally,
}

impl<'w> Lab<'w> {
    /// Begins a run. The directory is made now, so that an unwritable one is known before any load.
    pub fn begin(plan: Plan, out: Option<&Path>, watch: &'w mut dyn Watch) -> Result<Self, LabError> {
        plan.check()?;
        let dir = out.map(RunDir::create).transpose()?;
        let program = own_program()?;
        let run = Run {
            format: FORMAT.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command: crate::typed::line(std::env::args_os()),
            started: jiff::Timestamp::now().to_string(),
            plan,
            ..Run::default()
        };
        // The agents inherit the limit; should raising it fail, the old one is what they have.
        let descriptors = sys::limits::raise_descriptors().unwrap_or_else(|_| sys::limits::descriptors().0);
        Ok(Self {
            run,
            dir,
            program,
            watch,
            began: Instant::now(),
            stopped: false,
            descriptors,
            single: Tally::default(),
        })
    }

    /// The program that agents run: this one.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Seconds since the run began.
    pub fn elapsed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Whether the user wants to stop: nothing more is to be tried.
    pub fn stopped(&mut self) -> bool {
        self.stopped |= self.watch.stop();
        self.stopped
    }

    /// Something the user should know, once.
    pub fn note(&mut self, sentence: impl Into<String>) {
        let text = sentence.into();
        if !self.run.notes.iter().any(|n| n.text == text) {
            self.watch.note(&text);
            self.run.notes.push(Note { text });
        }
    }

    /// A machine or namespace that takes part.
    pub fn host(&mut self, host: HostInfo) {
        if !self.run.hosts.iter().any(|h| h.name == host.name) {
            self.run.hosts.push(host);
        }
    }

    /// Looks at both sides for a while without any load.
    pub fn rest(&mut self, scene: &Scene, seconds: f64) {
        self.watch.phase("at rest", seconds);
        let interval_s = self.run.plan.observe.interval_s;
        self.run.at_rest = scene.at_rest(seconds, interval_s, &|| self.watch.stop());
    }

    /// Opens cold connections on this machine, to be held around trials.
    pub fn open_cold(&mut self, plan: &run::ColdPlan, addr: std::net::SocketAddr) -> Result<Cold, LabError> {
        let seconds = f64::from(plan.connections) / plan.rate.max(0.1);
        self.watch.phase(&format!("{} cold connections", plan.connections), seconds);
        let cold = Cold::open(&Local::default(), &self.program, plan, addr, self.descriptors)?;
        cold.notes.iter().for_each(|note| self.note(note.clone()));
        Ok(cold)
    }

    /// Conducts one trial of one or more loads and returns it without keeping it.
    pub fn conduct(&mut self, scene: &Scene, loads: &[Load<'_>], point: &Point) -> Result<Trial, LabError> {
        let expected = loads.first().map_or(0.0, |l| l.plan.warmup_s + l.plan.duration_s);
        self.watch.phase(&point.label, expected);
        let stage = Stage { program: &self.program, loads, descriptors: self.descriptors, server: scene.server() };
        let interval_s = self.run.plan.observe.interval_s;
        let open = |pids: &[u32], begin| scene.open(pids, begin, interval_s);
        let (mut trial, ended) = conduct::conduct(&stage, point, open, self.watch)?;
        if ended == Ended::ByUser {
            self.stopped = true;
            trial.notes.push(format!("interrupted after {:.1} s of measuring", trial.measured.length_s));
        }
        Ok(trial)
    }

    /// Conducts one trial and keeps it in the run and its directory.
    pub fn trial(&mut self, scene: &Scene, loads: &[Load<'_>], point: &Point) -> Result<&Trial, LabError> {
        let trial = self.conduct(scene, loads, point)?;
        self.keep(trial)
    }

    /// Counts a request that was made outside of a trial (the first one, say) in the next trial that is kept.
    pub fn count(&mut self, single: &Tally) {
        self.single.merge(single);
    }

    /// Adds a trial to the run, judges it, and saves.
    pub fn keep(&mut self, mut trial: Trial) -> Result<&Trial, LabError> {
        trial.tally.merge(&std::mem::take(&mut self.single));
        self.run.trials.push(trial);
        self.save()?;
        let last = self.run.trials.len() - 1;
        self.watch.trial(&self.run.trials[last]);
        Ok(&self.run.trials[last])
    }

    /// Judges what there is and writes `run.json`.
    pub fn save(&mut self) -> Result<(), LabError> {
        self.run.elapsed_s = self.elapsed_s();
        self.run.interrupted = self.stopped;
        judge::judge(&mut self.run);
        if let Some(dir) = &self.dir {
            dir.save(&self.run)?;
        }
        Ok(())
    }

    /// Ends the run: judged, saved, and handed over.
    pub fn finish(mut self) -> Result<Run, LabError> {
        self.save()?;
        Ok(self.run)
    }

    /// Which processes and listeners the samplers look at besides the agents of a trial.
    pub fn scene(&self, addr: std::net::SocketAddr, server: Option<Watched>) -> Scene {
        Scene::new(addr, server)
    }
}

fn own_program() -> Result<PathBuf, LabError> {
    // Tests of other programs name the binary; a user never needs to.
    if let Some(path) = std::env::var_os("LOADLINE_AGENT") {
        return Ok(path.into());
    }
    std::env::current_exe().map_err(|e| LabError::set_up("finding this program, which its agents run too", e))
}
