//! The observer on another host: an agent there, told by lines. It lives through a run, as the one on this machine does; one
//! that is lost is said, and what it had seen of the trial is missing.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec, Incident, IncidentKind, Observed, WatchSpec, WatchedHost};
use sys::clock::Origin;

use crate::agent::{Agent, AgentGroup, Said};
use crate::{Host, LabError};

/// How long it may take to be there.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long an answer is waited for, besides its way.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
struct Line {
    group: AgentGroup,
    incidents: Vec<Incident>,
    /// Samples ordered and taken, and the time of the last, seconds since the origin.
    ordered: u64,
    taken: u64,
    edge_s: f64,
    observed: Option<Observed>,
    /// Its newest samples, for whoever looks on, and whether they were asked for again.
    glance: Option<Observed>,
    asked: bool,
    lost: Option<String>,
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct RemoteObserver {
    host: String,
    found: WatchedHost,
    line: Arc<Mutex<Line>>,
}

impl RemoteObserver {
    /// Starts it on a host.
    pub fn start(host: &dyn Host, program: &Path, spec: WatchSpec) -> Result<Self, LabError> {
        let mut group = AgentGroup::default();
        group.start(host, program, &format!("observer on {}", host.name()), &AgentSpec::Watch(spec))?;
        let ready = group.await_ready(READY_WITHIN)?.into_iter().next().unwrap_or_default();
        let (incidents, observed, glance, lost) = (Vec::new(), None, None, None);
        let line = Line { group, incidents, ordered: 0, taken: 0, edge_s: 0.0, observed, glance, asked: false, lost };
        Ok(Self {
            host: host.name().into(),
            found: ready.watching.unwrap_or_default(),
            line: Arc::new(Mutex::new(line)),
        })
    }

    /// Name of its host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What it found there.
    pub fn found(&self) -> &WatchedHost {
        &self.found
    }

    /// This boot of its machine.
    pub fn machine(&self) -> String {
        let line = self.lock();
        line.group.agents().first().and_then(Agent::hello).map(|hello| hello.machine.clone()).unwrap_or_default()
    }

    /// Processors that a process may use there.
    pub(crate) fn processors(&self) -> u32 {
        self.lock().group.agents().first().and_then(Agent::hello).map_or(0, |hello| hello.cpus)
    }

    /// Begins to sample for a trial, these processes besides those of its spec; times count from `origin`. None where it is
    /// lost.
    pub(crate) fn follow(&self, pids: Vec<u32>, interval_s: f64, origin: Origin) -> RemoteWatching {
        let mut line = self.lock();
        line.incidents.clear();
        (line.glance, line.asked) = (None, false);
        line.group.compare_clocks();
        line.group.tell_each(|agent| AgentCommand::Follow {
            pids: pids.clone(),
            origin_ns: agent.on_its_clock(origin.ns()),
            interval_s,
        });
        RemoteWatching { observer: self.clone(), origin }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Hears until something is so, at most until a moment, and as long as there is anybody to be heard.
    fn hear_until(&mut self, until: Instant, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) && self.lost.is_none() {
            match self.group.hear(until) {
                Some((_, Said::Report(AgentReport::Incidents { incidents }))) => self.incidents = incidents,
                Some((_, Said::Report(AgentReport::Edge { t_s }))) => (self.taken, self.edge_s) = (self.taken + 1, t_s),
                Some((_, Said::Report(AgentReport::Observed(seen)))) => self.observed = Some(*seen),
                Some((_, Said::Report(AgentReport::Glance(seen)))) => (self.glance, self.asked) = (Some(*seen), false),
                Some((_, Said::Report(AgentReport::Failed { error: how }) | Said::Gone(how))) => self.lost = Some(how),
                Some(_) => {}
                None => return,
            }
        }
    }

    fn patience(&self) -> Duration {
        PATIENCE + 2 * self.group.longest_round_trip()
    }
}

/// It at work on a trial.
pub(crate) struct RemoteWatching {
    observer: RemoteObserver,
    origin: Origin,
}

impl RemoteWatching {
    /// Orders a sample at a moment of our clock.
    pub(crate) fn order_edge(&self, at_ns: u64) {
        let mut line = self.observer.lock();
        line.ordered += 1;
        line.group.tell_each(|agent| AgentCommand::Edge { at_ns: agent.on_its_clock(at_ns) });
    }

    /// Waits for the sample that was ordered; its time, seconds since the origin.
    pub(crate) fn await_edge(&self) -> Option<f64> {
        let mut line = self.observer.lock();
        let until = Instant::now() + line.patience();
        line.hear_until(until, |line| line.taken >= line.ordered);
        (line.taken >= line.ordered).then_some(line.edge_s)
    }

    /// What happened to the processes there, and to itself, so far.
    pub(crate) fn incidents(&self) -> Vec<Incident> {
        let mut line = self.observer.lock();
        line.hear_until(Instant::now(), |_| false);
        let lost = line.lost.as_ref().map(|how| self.is_lost(how));
        line.incidents.iter().cloned().chain(lost).collect()
    }

    /// What its newest samples said when it was last asked; asks it again, and waits for nothing.
    pub(crate) fn glance(&self) -> Option<Observed> {
        let mut line = self.observer.lock();
        line.hear_until(Instant::now(), |_| false);
        if !line.asked && line.lost.is_none() {
            line.asked = true;
            line.group.tell_all(&AgentCommand::Glance);
        }
        line.glance.clone()
    }

    fn is_lost(&self, how: &str) -> Incident {
        let text = format!("the observer on {} was lost, its counters are missing: {how}", self.observer.host);
        Incident { kind: IncidentKind::ObserverLost, begin_s: self.origin.now_s(), end_s: None, text }
    }

    /// The longest way to it and back.
    pub(crate) fn round_trip(&self) -> Duration {
        self.observer.lock().group.longest_round_trip()
    }

    /// Ends the sampling and hands out what was seen.
    pub(crate) fn finish(self) -> Observed {
        let mut line = self.observer.lock();
        line.observed = None;
        line.group.tell_all(&AgentCommand::Collect);
        let until = Instant::now() + line.patience();
        line.hear_until(until, |line| line.observed.is_some());
        if line.observed.is_none() && line.lost.is_none() {
            line.lost = Some("it did not hand over what it saw in time".into());
        }
        let mut seen = line.observed.take().unwrap_or_default();
        seen.incidents.extend(line.lost.as_ref().map(|how| self.is_lost(how)));
        seen
    }
}
