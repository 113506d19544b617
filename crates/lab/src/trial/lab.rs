//! A run while it grows: conducts trials one after another, keeps each in the run and its directory, and knows when the
//! user wants to stop. `find`, `load` and the experiments are written on top of this.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use run::{
    FORMAT, HostInfo, Incident, IncidentKind, Intensity, MediumInfo, Note, Plan, RequestPlan, Run, RunDir, Tally, Trial,
};
use sys::clock::Origin;
use testbed::named::Joining;

use crate::agents::AgentGroup;
use crate::observe::host_watch::HostWatch;
use crate::observe::{Observation, Watched};
use crate::trial::act::Ended;
use crate::trial::cold::Cold;
use crate::trial::conduct::{self, Load, Stage};
use crate::trial::look;
use crate::{Host, LabError, Local, Point, Watch};

/// A run while it grows.
pub struct Lab<'w> {
    /// What it came to so far.
    pub run: Run,
    dir: Option<RunDir>,
    program: PathBuf,
    watch: &'w mut dyn Watch,
    began: Instant,
    stopped: bool,
    /// All that was asked for was done; until then what is saved is a run that was cut short.
    finished: bool,
    descriptors: u64,
    /// Single requests outside of trials; they count in the next trial that is kept.
    single: Tally,
    host_watch: Option<HostWatch>,
    /// The generators of the last trial, which wait for their next task.
    generators: AgentGroup,
    /// Which repeat goes on, from 0.
    repeat: u32,
}

/// Loads of different kinds are no one intensity, of which a trial has one.
fn of_one_kind(loads: &[Load<'_>], point: &Point) -> Result<(), LabError> {
    let together = Intensity::together(loads.iter().map(|load| &load.plan.intensity));
    if loads.is_empty() || together.is_some() {
        return Ok(());
    }
    let what = format!("loading at {:?} by several loads", point.label);
    Err(LabError::SetUp { what, why: "they are of different kinds (closed, open, S-Clients); use one kind".into() })
}

impl<'w> Lab<'w> {
    /// Begins a run. The directory is made now, so that an unwritable one is known before any load.
    pub fn begin(mut plan: Plan, out: Option<&Path>, watch: &'w mut dyn Watch) -> Result<Self, LabError> {
        plan.seal(&[]);
        plan.check()?;
        let dir = out.map(RunDir::create).transpose()?;
        let program = own_program()?;
        let run = Run {
            format: FORMAT.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command: crate::trial::command_line::line(std::env::args_os(), &plan.load.secrets),
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
            finished: false,
            descriptors,
            single: Tally::default(),
            host_watch: None,
            generators: AgentGroup::default(),
            repeat: 0,
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
        let text = self.run.plan.load.secrets.scrub(&sentence.into());
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

    /// Client and server are hosts of a testbed.
    pub(crate) fn joined(&mut self, testbed: &Joining) {
        let Joining { name, hosts, medium, made_of, shared_wire, .. } = testbed.clone();
        let [here, there] = &hosts;
        self.note(format!("{here} and {there} are hosts of the testbed {name}, joined by {medium} ({made_of})"));
        self.run.medium = Some(MediumInfo { testbed: name, hosts, medium, made_of, shared_wire });
    }

    /// Looks at both sides for a while without any load.
    pub fn rest(&mut self, observation: &Observation, seconds: f64) {
        self.watch.phase("at rest", seconds);
        let interval_s = self.run.plan.observe.interval_s;
        self.run.at_rest = observation.at_rest(seconds, interval_s, &|| self.watch.stop());
    }

    /// Looks at a server that somebody else loads, for the plan's duration.
    pub(crate) fn look(&mut self, observation: &Observation, point: &Point) -> Trial {
        let duration_s = self.run.plan.load.duration_s;
        self.watch.phase(&point.label, duration_s);
        let interval_s = self.run.plan.observe.interval_s;
        let Self { run, dir, watch, began, .. } = self;
        // What cannot be written now is said when the whole cannot be.
        let mut keep = |trial: Trial| drop(dir.as_ref().map(|dir| kept_so_far(run, dir, trial, began.elapsed())));
        let trial = look::look(observation, (interval_s, duration_s), point, *watch, &mut keep);
        self.stopped |= trial.incidents.iter().any(|i| trial.kind.ends_with(i.kind));
        trial
    }

    /// From now on each trial that observes nobody, since it times calls, tells what other programs used meanwhile.
    pub fn watch_host(&mut self) {
        self.host_watch = Some(HostWatch::start());
    }

    /// Opens cold connections on this machine, to be held around trials.
    pub fn open_cold(&mut self, plan: &run::ColdPlan, addr: &run::Address) -> Result<Cold, LabError> {
        self.open_cold_on(&Local::default(), plan, addr)
    }

    /// The same on another host, or on several in equal shares.
    pub(crate) fn open_cold_on(
        &mut self,
        host: &dyn Host,
        plan: &run::ColdPlan,
        addr: &run::Address,
    ) -> Result<Cold, LabError> {
        let seconds = f64::from(plan.connections) / plan.rate.max(0.1);
        self.watch.phase(&format!("{} cold connections", plan.connections), seconds);
        let cold = Cold::open(host, &self.program, plan, addr, self.descriptors)?;
        cold.notes.iter().for_each(|note| self.note(note.clone()));
        Ok(cold)
    }

    /// Conducts one trial of one or more loads and returns it without keeping it.
    pub fn conduct(&mut self, observation: &Observation, loads: &[Load<'_>], point: &Point) -> Result<Trial, LabError> {
        self.conduct_beside(observation, loads, point, &mut |_, _| {})
    }

    /// The same with something that is begun once the generators are ready: it is told who they are and the moment
    /// from which a trial's time counts.
    pub(crate) fn conduct_beside(
        &mut self,
        observation: &Observation,
        loads: &[Load<'_>],
        point: &Point,
        beside: &mut dyn FnMut(&AgentGroup, Origin),
    ) -> Result<Trial, LabError> {
        let expected = loads.first().map_or(0.0, |l| l.plan.warmup_s + l.plan.duration_s);
        of_one_kind(loads, point)?;
        self.watch.phase(&point.label, expected);
        let looked_at = self.watch.looks();
        let stage = Stage { program: &self.program, loads, descriptors: self.descriptors, looked_at };
        let interval_s = self.run.plan.observe.interval_s;
        let open = |group: &AgentGroup, origin| {
            beside(group, origin);
            observation.open(group, origin, interval_s)
        };
        let (mut trial, ended) = conduct::conduct(&stage, &mut self.generators, point, open, self.watch)?;
        // What comes after the end of a server or a generator is another server or another load.
        let broken = ended == Ended::Broken || trial.incidents.iter().any(|i| i.kind.breaks());
        self.stopped |= ended == Ended::ByUser || broken && !observation.is_blind();
        if ended == Ended::ByUser {
            trial.notes.push(format!("interrupted after {:.1} s of measuring", trial.measured.length_s));
        }
        Ok(trial)
    }

    /// Conducts one trial and keeps it in the run and its directory.
    pub fn trial(&mut self, observation: &Observation, loads: &[Load<'_>], point: &Point) -> Result<&Trial, LabError> {
        let trial = self.conduct(observation, loads, point)?;
        self.keep(trial)
    }

    /// Counts a request that was made outside of a trial (the first one, say) in the next trial that is kept.
    pub fn count(&mut self, single: &Tally) {
        self.single.merge(single);
    }

    /// Requests outside of trials are the first of a set.
    fn count_class(&self, single: &Tally, trial: &mut Trial) {
        let first = self.run.plan.load.requests.as_ref().and_then(|set| set.requests.first());
        let Some(name) = first.map(RequestPlan::class_name) else { return };
        let at = trial.classes.iter().position(|class| class.name == name);
        let Some(class) = at.or(trial.classes.len().checked_sub(1)).map(|at| &mut trial.classes[at]) else { return };
        class.total.begun += single.sent;
        class.total.completed += single.completed;
        class.total.unexpected_status += single.unexpected_status;
    }

    /// A request behind the last trial, which counts for that.
    pub(crate) fn count_afterwards(&mut self, single: &Tally) {
        let Some(mut trial) = self.run.trials.pop() else { return };
        self.count_class(single, &mut trial);
        trial.tally.merge(single);
        self.run.trials.push(trial);
    }

    /// What is kept from now on belongs to this repeat, counted from 0.
    pub fn begin_repeat(&mut self, repeat: u32) {
        self.repeat = repeat;
    }

    /// Adds a trial to the run, judges it, and saves.
    pub fn keep(&mut self, mut trial: Trial) -> Result<&Trial, LabError> {
        trial.repeat = self.repeat;
        if self.run.plan.times() > 1 {
            trial.label += &format!(", repeat {}", self.repeat + 1);
        }
        let single = std::mem::take(&mut self.single);
        self.count_class(&single, &mut trial);
        trial.tally.merge(&single);
        self.host_watch.iter_mut().for_each(|watch| watch.put(&mut trial));
        trial.notes.iter_mut().for_each(|note| *note = self.run.plan.load.secrets.scrub(note));
        self.run.trials.push(trial);
        self.save()?;
        let last = self.run.trials.len() - 1;
        self.watch.trial(&self.run.trials[last]);
        Ok(&self.run.trials[last])
    }

    /// Judges what there is and writes `run.json`. Should this process be killed, what was written last says that it was
    /// cut short.
    pub fn save(&mut self) -> Result<(), LabError> {
        self.run.elapsed_s = self.elapsed_s();
        self.run.interrupted = self.stopped || !self.finished;
        if self.finished {
            judge::judge(&mut self.run)
        } else {
            judge::judge_so_far(&mut self.run)
        }
        if let Some(dir) = &self.dir {
            dir.save(&self.run)?;
        }
        Ok(())
    }

    /// The server, or the way to it, went away in the last trial: it is said there, and nothing more is tried.
    pub(crate) fn gone(&mut self, why: &str) -> Result<(), LabError> {
        let text = format!("the server, or the path to it, stopped answering: {why}");
        if let Some(trial) = self.run.trials.last_mut() {
            let begin_s = trial.measured.window.begin_s;
            trial.notes.push(text.clone());
            trial.incidents.push(Incident { kind: IncidentKind::ServerUnreachable, begin_s, end_s: None, text });
        }
        self.stop();
        self.save()
    }

    /// Nothing more is tried, and the run is one that was cut short.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Ends the run: judged, saved, and handed over.
    pub fn finish(mut self) -> Result<Run, LabError> {
        self.finished = true;
        self.save()?;
        Ok(self.run)
    }

    /// Which processes and listeners the samplers look at besides the agents of a trial.
    pub fn observation(&self, addr: impl Into<run::Address>, server: Option<Watched>) -> Observation {
        Observation::new(addr, server)
    }
}

/// Writes a run with a trial that goes on, as one that was cut short: it is that, should this process be killed.
fn kept_so_far(run: &mut Run, dir: &RunDir, trial: Trial, elapsed: Duration) -> Result<(), LabError> {
    (run.elapsed_s, run.interrupted) = (elapsed.as_secs_f64(), true);
    run.trials.push(trial);
    judge::judge_so_far(run);
    let saved = dir.save(run);
    run.trials.pop();
    Ok(saved?)
}

fn own_program() -> Result<PathBuf, LabError> {
    // Tests of other programs name the binary; a user never needs to.
    if let Some(path) = std::env::var_os("LOADLINE_AGENT") {
        return Ok(path.into());
    }
    std::env::current_exe().map_err(|e| LabError::set_up("finding this program, which its agents run too", e))
}
