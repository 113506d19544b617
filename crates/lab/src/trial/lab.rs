//! A run to which load tests are added. A `Lab` conducts load tests one after another, and stores the result of each in
//! the run and in the run's directory. A `Lab` also knows if the user wants to stop. `find`, `load` and the experiments
//! all use a `Lab`.

mod kept;
mod loads;
mod notes;

use std::path::{Path, PathBuf};
use std::time::Instant;

use run::{FORMAT, Incident, IncidentKind, Plan, Run, RunDir, Tally};

use crate::agents::AgentGroup;
use crate::observe::host_watch::HostWatch;
use crate::observe::{Observation, ObservedServer};
use crate::trial::BudgetClock;
use crate::trial::backlog;
use crate::trial::cold::Cold;
use crate::trial::span_times;
use crate::{Host, LabError, Local, Watch};

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
        self.stopped = self.must_stop();
        self.stopped
    }

    /// Returns the same as [`Self::stopped`].
    pub(crate) fn must_stop(&self) -> bool {
        self.stopped || self.watch.stop()
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

    /// Begins a repeat, to which all later load tests belong. Repeats are numbered from 0.
    pub fn begin_repeat(&mut self, repeat: u32) {
        self.repeat = repeat;
    }

    /// Records that the server, or the network path to it, failed in the last load test, and stops the run. If the
    /// queue of the load explains that no answer came within `waited_s` seconds, adds a note with this explanation
    /// instead.
    pub(crate) fn gone(&mut self, why: &str, waited_s: f64) -> Result<(), LabError> {
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

    /// Marks the run as stopped, so that it ends early.
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

/// Connects to a database behind the server, before any load.
fn connect(behind: &run::Behind) -> Result<databases::Database, LabError> {
    let fail = |why: databases::DatabaseError| LabError::set_up(format!("connecting to {behind}"), why.to_string());
    databases::Database::connect(behind).map_err(fail)
}

/// Returns the path of the program that agents run, which is this program.
pub fn own_program() -> Result<PathBuf, LabError> {
    // Only tests of other crates set the variable LOADLINE_AGENT.
    if let Some(path) = std::env::var_os("LOADLINE_AGENT") {
        return Ok(path.into());
    }
    std::env::current_exe().map_err(|e| LabError::set_up("finding this program, which its agents run too", e))
}
