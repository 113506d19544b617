//! A run to which load tests are added. A `Lab` conducts load tests one after another, and stores the result of each in
//! the run and in the run's directory. A `Lab` also knows if the user wants to stop. `find`, `load` and the experiments
//! all use a `Lab`.

mod kept;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use run::{FORMAT, HostInfo, Incident, IncidentKind, Intensity, MediumInfo, Note, Plan, Run, RunDir, Tally, Trial};
use sys::clock::Origin;
use testbed::named::Joining;

use crate::agents::AgentGroup;
use crate::observe::host_watch::HostWatch;
use crate::observe::{Observation, ObservedServer};
use crate::trial::BudgetClock;
use crate::trial::asker::alive_timeout_s;
use crate::trial::backlog;
use crate::trial::cold::Cold;
use crate::trial::conduct::{self, Load, TrialSetup};
use crate::trial::observe_only;
use crate::trial::running_trial::TrialEnd;
use crate::trial::span_times;
use crate::trial::unasked;
use crate::{Host, LabError, Local, Point, Watch};

/// A run that is in progress: the load tests that have been conducted so far, and everything that is needed to conduct
/// further load tests.
pub struct Lab<'w> {
    /// The run with all load tests so far.
    pub run: Run,
    dir: Option<RunDir>,
    program: PathBuf,
    watch: &'w mut dyn Watch,
    began: Instant,
    stopped: bool,
    /// True once the run is complete. Before the run is complete, the saved run is marked as interrupted.
    finished: bool,
    descriptors: u64,
    /// Counts of requests made outside of load tests. The counts are added to those of the next load test that is
    /// stored.
    single: Tally,
    host_watch: Option<HostWatch>,
    /// Generators of the last load test, which wait for another task.
    generators: AgentGroup,
    /// Number of the current repeat, from 0.
    repeat: u32,
    /// Clock of the budget, without an end if the command has no budget.
    pub(crate) clock: BudgetClock,
    /// True once the user was told that the run cannot be written.
    unsaved: bool,
    /// Receiver of the server's spans; `None` if the plan has none.
    spans: Option<spans::Receiver>,
    /// Databases that the plan names as upstream services of the server.
    pub(crate) databases: Vec<databases::Database>,
}

/// Fails if loads are of different kinds (closed loop, open loop, S-Clients), because a load test has only one
/// intensity.
fn check_one_kind(loads: &[Load<'_>], point: &Point) -> Result<(), LabError> {
    let together = Intensity::sum(loads.iter().map(|load| &load.plan.intensity));
    if loads.is_empty() || together.is_some() {
        return Ok(());
    }
    let what = format!("loading at {:?} by several loads", point.label);
    Err(LabError::SetUp { what, why: "closed loop, open loop and S-Clients cannot be mixed; use one kind".into() })
}

impl<'w> Lab<'w> {
    /// Begins a run, and undoes changes that killed experiments left on this host. The directory is made before any
    /// load, so that an unwritable directory is noticed in time.
    pub fn begin(mut plan: Plan, out: Option<&Path>, watch: &'w mut dyn Watch) -> Result<Self, LabError> {
        plan.redact_secrets(&[]);
        plan.check()?;
        let databases = plan.observe.behind.iter().map(connect).collect::<Result<_, _>>()?;
        let spans = plan.observe.spans.map(spans::Receiver::start).transpose();
        let spans = spans.map_err(|why| LabError::set_up("receiving spans (--spans)", why))?;
        let dir = out.map(RunDir::create).transpose()?;
        let program = own_program()?;
        let run = Run {
            format: FORMAT.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command: crate::trial::command_line::line(std::env::args_os(), &plan.load.secrets),
            started: jiff::Timestamp::now().to_string(),
            label: plan.label.take(),
            plan,
            ..Run::default()
        };
        // Agents inherit the raised descriptor limit. If the descriptor limit cannot be raised, the agents inherit the
        // old limit.
        let descriptors = sys::limits::raise_descriptors().unwrap_or_else(|_| sys::limits::descriptors().0);
        let mut lab = Self {
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
            clock: BudgetClock::default(),
            unsaved: false,
            spans,
            databases,
        };
        crate::agents::put_back().into_iter().for_each(|note| lab.note(note));
        if let Some(addr) = lab.spans.as_ref().map(spans::Receiver::addr) {
            lab.announce(format!("spans are received at http://{addr}/v1/traces (OTLP)"));
        }
        Ok(lab)
    }

    /// Returns the path of the program that agents run, which is this program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the seconds since the run began.
    pub fn elapsed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Returns the seconds of the budget that are left for load tests; infinite without a budget.
    pub(crate) fn left_s(&self) -> f64 {
        self.clock.left_s(self.elapsed_s())
    }

    /// Returns true if the user wants to stop, or if the run was stopped for another reason, such as the end of the
    /// server.
    pub fn stopped(&mut self) -> bool {
        self.stopped |= self.watch.stop();
        self.stopped
    }

    /// Adds a note to the run, unless the run already has this note.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.add_note(sentence.into(), false);
    }

    /// Adds a warning to the run, unless the run already has it. Warnings are shown next to the result.
    pub fn warn(&mut self, sentence: impl Into<String>) {
        self.add_note(sentence.into(), true);
    }

    /// Adds a note to the run, and shows it at once.
    pub(crate) fn announce(&mut self, sentence: String) {
        self.watch.alert(&sentence);
        self.run.notes.push(Note { text: sentence, is_warning: false });
    }

    fn add_note(&mut self, sentence: String, is_warning: bool) {
        let text = self.run.plan.load.secrets.scrub(&sentence);
        if !self.run.notes.iter().any(|n| n.text == text) {
            self.watch.note(&text);
            self.run.notes.push(Note { text, is_warning });
        }
    }

    /// Adds to the run a machine or a network namespace that the run uses.
    pub fn host(&mut self, host: HostInfo) {
        if !self.run.hosts.iter().any(|h| h.name == host.name) {
            self.run.hosts.push(host);
        }
    }

    /// Records that client and server are on hosts of a testbed.
    pub(crate) fn joined(&mut self, testbed: &Joining) {
        let Joining { name, hosts, medium, made_of, shared_wire, .. } = testbed.clone();
        let [here, there] = &hosts;
        self.note(format!("{here} and {there} are hosts of the testbed {name}, joined by {medium} ({made_of})"));
        self.run.medium = Some(MediumInfo { testbed: name, hosts, medium, made_of, shared_wire });
    }

    /// Observes client and server for `seconds` without load.
    pub fn rest(&mut self, observation: &Observation, seconds: f64) {
        self.watch.phase("at rest", seconds);
        let interval_s = self.run.plan.observe.interval_s;
        self.run.at_rest = observation.at_rest(seconds, interval_s, &|| self.watch.stop());
    }

    /// Observes a server under external load for the plan's duration.
    pub(crate) fn observe_only(&mut self, observation: &Observation, point: &Point) -> Trial {
        let duration_s = self.run.plan.load.duration_s;
        self.watch.phase(&point.label, duration_s);
        let interval_s = self.run.plan.observe.interval_s;
        let Self { run, dir, watch, began, .. } = self;
        // A failed write is reported later, when the whole run cannot be written.
        let mut keep = |trial: Trial| drop(dir.as_ref().map(|dir| save_unfinished(run, dir, trial, began.elapsed())));
        let mut trial = observe_only::observe_only(observation, (interval_s, duration_s), point, *watch, &mut keep);
        let by_user = observe_only::is_cut_short(&trial, duration_s, self.watch.stop());
        if by_user {
            trial.notes.push(interrupted_after(&trial));
        }
        self.stopped |= by_user || trial.incidents.iter().any(|i| trial.kind.ends_with(i.kind));
        trial
    }

    /// Records the CPU use of other programs in each later load test that has no observers. Load tests without
    /// observers measure how long event calls (such as epoll_wait) take.
    pub fn watch_host(&mut self) {
        self.host_watch = Some(HostWatch::start());
    }

    /// Opens cold connections from this machine, which are held during load tests.
    pub fn open_cold(&mut self, plan: &run::ColdPlan, addr: &run::Address) -> Result<Cold, LabError> {
        self.open_cold_on(&Local::default(), plan, addr)
    }

    /// Opens cold connections from another host, or from several hosts in equal shares.
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

    /// Conducts one load test of one or more loads. Returns the result without storing it.
    pub fn conduct(&mut self, observation: &Observation, loads: &[Load<'_>], point: &Point) -> Result<Trial, LabError> {
        self.conduct_beside(observation, loads, point, &mut |_, _| {})
    }

    /// Conducts one load test, and calls `beside` as soon as the generators are ready. The arguments of `beside` are
    /// the generators and the origin of the load test's times.
    pub(crate) fn conduct_beside(
        &mut self,
        observation: &Observation,
        loads: &[Load<'_>],
        point: &Point,
        beside: &mut dyn FnMut(&AgentGroup, Origin),
    ) -> Result<Trial, LabError> {
        let expected = loads.first().map_or(0.0, |l| l.plan.warmup_s + l.plan.duration_s);
        check_one_kind(loads, point)?;
        self.watch.phase(&point.label, expected);
        let watched = self.watch.looks();
        let left_s = self.left_s();
        let setup = TrialSetup { program: &self.program, loads, descriptors: self.descriptors, watched, left_s };
        let interval_s = self.run.plan.observe.interval_s;
        let mut began_unix_s = None;
        let open = |group: &AgentGroup, origin: Origin| {
            began_unix_s = Some(span_times::unix_s() - origin.now_s());
            beside(group, origin);
            observation.open(group, origin, interval_s)
        };
        let (mut trial, ended) = match conduct::conduct(&setup, &mut self.generators, point, open, self.watch) {
            // If the first load of a run with a budget cannot start, a run that gives the cause is more useful than an
            // error.
            Err(LabError::Late { name, why }) if left_s.is_finite() && self.run.trials.is_empty() => {
                let text = format!("the generator {name:?} got too little CPU time: {why}");
                (conduct::never_begun(loads, point, text), TrialEnd::Broken)
            }
            conducted => conducted?,
        };
        trial.measured.load_began_unix_s = began_unix_s;
        if let Some(why) = unasked::refusal(&trial, loads) {
            return Err(LabError::Unasked { target: self.run.plan.target.url.clone(), why });
        }
        let around = trial.measured.around.unwrap_or_default();
        self.clock.conducted(around.start_s, around.drain_s);
        // After the end of a server or a generator, further load tests would not measure the planned load.
        let broken = ended == TrialEnd::Broken || trial.incidents.iter().any(|i| i.kind.invalidates_trial());
        self.stopped |= ended == TrialEnd::ByUser || broken && !observation.is_blind();
        if ended == TrialEnd::ByUser {
            trial.notes.push(interrupted_after(&trial));
        }
        Ok(trial)
    }

    /// Conducts one load test and stores it in the run and its directory.
    pub fn trial(&mut self, observation: &Observation, loads: &[Load<'_>], point: &Point) -> Result<&Trial, LabError> {
        let trial = self.conduct(observation, loads, point)?;
        self.keep(trial)
    }

    /// Begins a repeat, to which all later load tests belong. Repeats are numbered from 0.
    pub fn begin_repeat(&mut self, repeat: u32) {
        self.repeat = repeat;
    }

    /// Records that the server, or the network path to it, failed in the last load test, and stops the run. If the
    /// queue of the load explains the missing answer, adds a note with this explanation instead.
    pub(crate) fn gone(&mut self, why: &str) -> Result<(), LabError> {
        let waited_s = alive_timeout_s(&self.run.plan.load);
        if let Some(text) = backlog::explanation(&self.run.trials, waited_s) {
            self.note(text);
            return self.save();
        }
        if let Some(trial) = self.run.trials.last_mut() {
            let silent = trial.incidents.iter().filter(|i| i.kind == IncidentKind::Silence).map(|i| i.begin_s);
            let begin_s = silent.reduce(f64::max).unwrap_or(trial.measured.window.begin_s);
            let text = format!("the server, or the path to it, stopped answering at {begin_s:.1} s: {why}");
            trial.notes.push(text.clone());
            trial.incidents.push(Incident { kind: IncidentKind::ServerUnreachable, begin_s, end_s: None, text });
        }
        self.stop();
        self.save()
    }

    /// Records that the server refused all requests of the last load test, and also a single request after this load
    /// test.
    pub(crate) fn refuses_at_rest(&mut self) {
        let text = "a single request after the load failed, too, so the load is not the reason".to_string();
        if let Some(trial) = self.run.trials.last_mut() {
            let begin_s = trial.measured.window.end_s;
            trial.notes.push(text.clone());
            trial.incidents.push(Incident { kind: IncidentKind::RefusedAtRest, begin_s, end_s: None, text });
        }
    }

    /// Stops the run early.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Ends the run: judges it, tries to save it, and returns it. If the run cannot be written, the user is only
    /// warned. The caller shows the result, saves the run again, and reports an error if the run still cannot be
    /// written.
    pub fn finish(mut self) -> Result<Run, LabError> {
        if let Some(receiver) = self.spans.take() {
            span_times::add(&mut self.run, &receiver, self.watch);
        }
        self.finished = true;
        self.save()?;
        Ok(self.run)
    }

    /// Returns observers for the connections to `addr` and for the server, with the thread samples and databases of the
    /// plan.
    pub fn observation(&self, addr: impl Into<run::Address>, server: Option<ObservedServer>) -> Observation {
        Observation::new(addr, server).with_waits(&self.run.plan.observe).with_databases(&self.databases)
    }
}

/// Returns the note on a load test that the user ended.
fn interrupted_after(trial: &Trial) -> String {
    format!("interrupted after {} of measuring", run::number::span(trial.measured.length_s))
}

/// Connects to a database behind the server, before any load.
fn connect(behind: &run::Behind) -> Result<databases::Database, LabError> {
    let fail = |why: databases::DatabaseError| LabError::set_up(format!("connecting to {behind}"), why.to_string());
    databases::Database::connect(behind).map_err(fail)
}

/// Writes the run, including a load test that has not ended. The run is marked as interrupted, so that the mark remains
/// if this process is killed.
fn save_unfinished(run: &mut Run, dir: &RunDir, trial: Trial, elapsed: Duration) -> Result<(), LabError> {
    (run.elapsed_s, run.interrupted) = (elapsed.as_secs_f64(), true);
    run.trials.push(trial);
    judge::judge_so_far(run);
    let saved = dir.save(run);
    run.trials.pop();
    Ok(saved?)
}

/// Returns the path of the program that agents run, which is this program.
pub fn own_program() -> Result<PathBuf, LabError> {
    // Only tests of other crates set the variable LOADLINE_AGENT.
    if let Some(path) = std::env::var_os("LOADLINE_AGENT") {
        return Ok(path.into());
    }
    std::env::current_exe().map_err(|e| LabError::set_up("finding this program, which its agents run too", e))
}
