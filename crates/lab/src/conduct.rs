//! One trial: agents up, warm-up until the rate is steady, a counter sample at each edge of the window, drain, merge.
//!
//! The origin of a trial's time is the moment at which its agents begin to send. Both sides' samplers and the agents'
//! ticks count from there, so windows of the one can be read in the recordings of the other.

use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec, LoadPart, LoadPlan, Phase, Steady, Trial, Window};

use crate::agent::{Crew, Said};
use crate::eyes::{Eyes, Watched};
use crate::merge::{self, Point};
use crate::pulse::Pulse;
use crate::split::{self, split};
use crate::vigil::Vigil;
use crate::{Host, LabError, Watch};

/// How long an agent may take to have its sockets and memory.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// From "all agents are told" to the first request: longer than starting the agents takes.
const LEAD: Duration = Duration::from_millis(60);
/// Longest pause between two looks at the user's wish to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Steps of a tenth of a second that warm-up looks at, at least.
const FEWEST_STEPS: usize = 4;

/// One load of a trial: who sends what where. Most trials have one; several hosts or kinds of clients are several.
pub struct Load<'a> {
    /// Where its agents run.
    pub host: &'a dyn Host,
    /// The server.
    pub addr: std::net::SocketAddr,
    /// What they send. Times are taken from the first load of a trial.
    pub plan: LoadPlan,
}

/// Everything that a trial stands on.
pub(crate) struct Stage<'a> {
    pub(crate) program: &'a Path,
    pub(crate) loads: &'a [Load<'a>],
    /// Descriptors that one agent process may hold.
    pub(crate) descriptors: u64,
    /// The server, where its processes are known.
    pub(crate) server: Option<&'a Watched>,
}

/// What stopped a trial before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was measured to its end.
    InFull,
    /// The user asked to stop.
    ByUser,
}

struct Parts {
    parts: Vec<Option<LoadPart>>,
    gone: Vec<Option<String>>,
}

impl Parts {
    fn new(n: usize) -> Self {
        Self { parts: vec![None; n], gone: vec![None; n] }
    }

    fn over(&self) -> bool {
        self.parts.iter().zip(&self.gone).all(|(part, gone)| part.is_some() || gone.is_some())
    }
}

/// Conducts one trial. `eyes` opens the samplers once the agents' process ids are known.
pub(crate) fn conduct(
    stage: &Stage<'_>,
    point: &Point,
    eyes: impl FnOnce(&[u32], Instant) -> Eyes,
    watch: &mut dyn Watch,
) -> Result<(Trial, Ended), LabError> {
    let Some(plan) = stage.loads.first().map(|l| &l.plan) else {
        return Err(LabError::set_up(&point.label, "a trial needs a load"));
    };
    let begin = Instant::now() + LEAD;
    let (crew, spread) = muster(stage, sys::clock::realtime_ns() + LEAD.as_nanos() as u64)?;
    let pids: Vec<u32> = crew.agents().iter().map(crate::agent::Agent::pid).collect();
    let ready = crew.await_ready(READY_WITHIN)?;
    let vigil = stage.server.map(|s| Vigil::over(&s.pids, s.netns_pid.is_none().then_some(s.listen).flatten(), begin));
    let mut act = Act { crew, pulse: Pulse::new(pids.len()), parts: Parts::new(pids.len()), begin, watch, vigil };
    let eyes = eyes(&pids, begin);
    let (steady, mut ended) = act.warm_up(plan, asked(stage));
    let (from, _) = eyes.edge();
    act.crew.tell_all(&AgentCommand::Enter { phase: Phase::Measure });
    if ended == Ended::InFull {
        ended = act.hold(Duration::from_secs_f64(plan.duration_s));
    }
    let (_, to) = eyes.edge();
    act.crew.tell_all(&AgentCommand::Enter { phase: Phase::Drain });
    act.collect(Duration::from_secs_f64(plan.drain_s.max(0.0)) + Duration::from_secs(3));
    let window = Window { begin_s: from, end_s: to };
    let mut trial = act.trial(plan, point, window)?;
    trial.steady = steady;
    eyes.close(&mut trial);
    act.incidents(&mut trial);
    trial.notes.extend(spread);
    trial.notes.extend(ready.into_iter().flat_map(|r| r.notes));
    trial.notes.sort();
    trial.notes.dedup();
    Ok((trial, ended))
}

/// Connections that the loads of a closed loop ask for.
fn asked(stage: &Stage<'_>) -> u64 {
    let of = |load: &Load<'_>| match load.plan.intensity {
        run::Intensity::Closed { connections, .. } => u64::from(connections),
        _ => 0,
    };
    stage.loads.iter().map(of).sum()
}

/// Starts every agent of every load; says how those were spread that need several processes.
fn muster(stage: &Stage<'_>, start_at_ns: u64) -> Result<(Crew, Vec<String>), LabError> {
    let (mut crew, mut spread) = (Crew::default(), Vec::new());
    for load in stage.loads {
        load.plan.check()?;
        let parts = split(&load.plan, stage.descriptors);
        spread.extend(split::told(&parts, stage.descriptors));
        for plan in parts {
            let name = format!("load {}", crew.agents().len() + 1);
            let spec = AgentSpec::Load { plan, addr: load.addr, start_at_ns };
            crew.start(load.host, stage.program, &name, &spec)?;
        }
    }
    Ok((crew, spread))
}

/// A trial while its agents run.
struct Act<'w> {
    crew: Crew,
    pulse: Pulse,
    parts: Parts,
    begin: Instant,
    watch: &'w mut dyn Watch,
    vigil: Option<Vigil>,
}

impl Act<'_> {
    /// Waits until the completed rate is steady by judge's test, at most the plan's warm-up time; with blocks, until
    /// all `asked` connections are up too.
    fn warm_up(&mut self, plan: &LoadPlan, asked: u64) -> (Steady, Ended) {
        let cap = self.begin + Duration::from_secs_f64(plan.warmup_s.max(0.0));
        loop {
            let rates = self.pulse.rates(0.0, self.pulse.known_until());
            let mut steady = judge::steady(&rates);
            steady.warmup_s = Instant::now().saturating_duration_since(self.begin).as_secs_f64();
            let up = plan.blocks.is_none() || self.pulse.now().open >= asked;
            let settled = up && rates.len() >= FEWEST_STEPS && steady.steady;
            if settled || Instant::now() >= cap || self.parts.over() {
                return (steady, Ended::InFull);
            }
            if self.listen(cap) == Ended::ByUser {
                return (steady, Ended::ByUser);
            }
        }
    }

    fn hold(&mut self, length: Duration) -> Ended {
        let until = Instant::now() + length;
        while Instant::now() < until && !self.parts.over() {
            if self.listen(until) == Ended::ByUser {
                return Ended::ByUser;
            }
        }
        Ended::InFull
    }

    fn collect(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        while !self.parts.over() && Instant::now() < until {
            self.listen(until);
        }
        self.crew.stop(Duration::from_millis(500));
        // What came while the agents were stopped.
        let soon = Instant::now() + Duration::from_millis(100);
        while !self.parts.over() && Instant::now() < soon {
            self.listen(soon);
        }
    }

    /// Hears at most one thing, and looks whether the user wants to stop.
    fn listen(&mut self, until: Instant) -> Ended {
        match self.crew.hear(until.min(Instant::now() + LOOK)) {
            Some((agent, Said::Report(AgentReport::Tick(tick)))) => {
                self.pulse.push(agent, tick);
                self.watch.tick(&self.pulse.now());
            }
            Some((agent, Said::Report(AgentReport::Part(part)))) => self.parts.parts[agent] = Some(*part),
            Some((agent, Said::Report(AgentReport::Failed { error }) | Said::Gone(error))) => {
                self.parts.gone[agent].get_or_insert(error);
            }
            Some((_, Said::Report(AgentReport::Ready { .. } | AgentReport::Held(_) | AgentReport::Counts { .. })))
            | None => {}
        }
        if let Some(vigil) = &mut self.vigil {
            vigil.look(self.pulse.now().completed);
        }
        if self.watch.stop() { Ended::ByUser } else { Ended::InFull }
    }

    /// What happened to the server: what its processes show; without that, what its silence shows.
    fn incidents(&mut self, trial: &mut Trial) {
        let window = trial.measured.window;
        trial.incidents = self.vigil.take().map(Vigil::finish).unwrap_or_default();
        if trial.incidents.is_empty() {
            trial.incidents.extend(self.pulse.silence(window.begin_s, window.end_s));
        }
        trial.notes.extend(trial.incidents.iter().map(|i| i.text.clone()));
    }

    fn trial(&self, plan: &LoadPlan, point: &Point, window: Window) -> Result<Trial, LabError> {
        let mut whole = LoadPart::default();
        let mut notes = Vec::new();
        for (i, part) in self.parts.parts.iter().enumerate() {
            match part {
                Some(part) => whole.merge(part),
                None => {
                    let how = self.parts.gone[i].clone().unwrap_or_else(|| "it did not answer in time".into());
                    notes.push(format!("the part of agent {} is missing from this trial: {how}", self.crew.name(i)));
                }
            }
        }
        if self.parts.parts.iter().all(Option::is_none) {
            return Err(LabError::Lost { label: point.label.clone(), why: notes.join("; ") });
        }
        if self.parts.parts.len() > 1 {
            notes.push(format!("the load was made by {} agent processes", self.parts.parts.len()));
        }
        whole.measured_s = merge::mean_s(self.parts.parts.iter().flatten());
        let mut trial = merge::trial(point, &plan.intensity, whole, window);
        trial.measured.series_completed = self.pulse.rates(window.begin_s, window.end_s);
        trial.notes.extend(notes);
        Ok(trial)
    }
}
