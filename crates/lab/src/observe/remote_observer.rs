//! The observer on another host: an agent there, told by lines. It lives through a run, as the one on this machine does; one
//! that is lost is said, and what it had seen of the trial is missing.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use run::{
    AgentCommand, AgentReport, AgentSpec, Incident, IncidentKind, Observed, Recording, WatchSpec, WatchedHost, Window,
};
use sys::clock::Origin;

use crate::agents::{ASK_EVERY, Agent, AgentGroup, Said};
use crate::{Host, LabError};

/// How long it may take to be there.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long an answer is waited for, besides its way.
const PATIENCE: Duration = Duration::from_secs(3);
/// Values of a recording that are taken from a host, at most: several times what eight hours have.
const MOST_VALUES: usize = 64 << 20;

#[derive(Debug, Default)]
struct Line {
    group: AgentGroup,
    incidents: Vec<Incident>,
    /// Samples ordered and taken, and the times of those of this trial, seconds since its origin: by its clock and by ours.
    ordered: u64,
    taken: u64,
    edges: Vec<(f64, f64)>,
    /// Samples that came ahead of the rest of what it saw.
    rows: Recording,
    /// What it saw, as it handed that over last; how often it was asked for that, and did.
    observed: Option<Observed>,
    wanted: u64,
    came: u64,
    /// Its newest samples, for whoever looks on, and whether they were asked for again.
    glance: Option<Observed>,
    asked: bool,
    lost: Option<String>,
    /// When its clock is asked for next.
    ask_at: Option<Instant>,
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
        let line = Line { group, ..Line::default() };
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
        (line.edges, line.observed) = (Vec::new(), None);
        (line.glance, line.asked) = (None, false);
        line.group.compare_clocks();
        line.ask_at = Some(Instant::now() + ASK_EVERY);
        line.group.begin_at(origin, |origin_ns| AgentCommand::Follow { pids: pids.clone(), origin_ns, interval_s });
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
            let Some((_, said)) = self.group.hear(until) else { return };
            self.heard(said);
        }
    }

    fn heard(&mut self, said: Said) {
        match said {
            Said::Pong(n, theirs_ns, came_ns) => self.group.answered(0, (n, theirs_ns, came_ns)),
            Said::Gone(how) | Said::Report(AgentReport::Failed { error: how }) => self.lost = Some(how),
            Said::Report(AgentReport::Incidents { incidents }) => self.incidents = self.ours(incidents),
            // As it is told again in the recording, it is of the window that it is the edge of.
            Said::Report(AgentReport::Edge { t_s }) => {
                self.taken += 1;
                self.edges.push((t_s, self.group.ours_s(0, t_s)));
            }
            Said::Report(AgentReport::Rows(rows)) => self.rows(*rows),
            Said::Report(AgentReport::Observed(seen)) => self.observed(*seen),
            Said::Report(AgentReport::Glance(seen)) => (self.glance, self.asked) = (Some(*seen), false),
            Said::Report(_) => {}
        }
    }

    fn rows(&mut self, rows: Recording) {
        if self.rows.values() + rows.values() > MOST_VALUES {
            self.lost = Some(format!("it sent more than {MOST_VALUES} values of counters"));
        } else if !self.rows.append(rows) {
            self.lost = Some("it sent pieces of a recording that do not fit together".into());
        }
    }

    /// The rest of what it saw came, its times become those of our clock.
    fn observed(&mut self, seen: Observed) {
        self.rows(seen.recording);
        let mut recording = std::mem::take(&mut self.rows);
        recording.t_s.iter_mut().for_each(|t_s| *t_s = self.ours_s(*t_s));
        let mut seen = Observed { recording, incidents: self.ours(seen.incidents), ..seen };
        for stood in &mut seen.pauses {
            *stood = Window { begin_s: self.ours_s(stood.begin_s), end_s: self.ours_s(stood.end_s) };
        }
        (self.observed, self.came) = (Some(seen), self.came + 1);
    }

    /// A time of its clock by ours. What is known of that grows; of an edge it was told already.
    fn ours_s(&self, theirs_s: f64) -> f64 {
        let edge = self.edges.iter().find(|(theirs, _)| (theirs - theirs_s).abs() < 1e-9);
        edge.map_or_else(|| self.group.ours_s(0, theirs_s), |(_, ours_s)| *ours_s)
    }

    fn ours(&self, mut incidents: Vec<Incident>) -> Vec<Incident> {
        for incident in &mut incidents {
            incident.begin_s = self.ours_s(incident.begin_s);
            incident.end_s = incident.end_s.map(|end_s| self.ours_s(end_s));
        }
        incidents
    }

    /// Hears what came, and asks for its clock now and then.
    fn look(&mut self) {
        let now = Instant::now();
        if self.ask_at.is_some_and(|at| now >= at) {
            self.ask_at = Some(now + ASK_EVERY);
            self.group.ask_clocks();
        }
        self.hear_until(now, |_| false);
    }

    /// Asks for what it saw and waits for it, as long as something of it comes.
    fn hand_over(&mut self, command: &AgentCommand) {
        self.wanted += 1;
        self.group.tell_all(command);
        while self.came < self.wanted && self.lost.is_none() {
            let (had, until) = (self.rows.t_s.len(), Instant::now() + self.patience());
            self.hear_until(until, |line| line.came >= line.wanted || line.rows.t_s.len() > had);
            if self.came < self.wanted && self.rows.t_s.len() == had && self.lost.is_none() {
                self.lost = Some("it did not send what it saw in time".into());
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
        let last = line.edges.last().filter(|_| line.taken >= line.ordered);
        last.map(|(_, ours_s)| *ours_s)
    }

    /// What happened to the processes there, and to itself, so far.
    pub(crate) fn incidents(&self) -> Vec<Incident> {
        let mut line = self.observer.lock();
        line.look();
        let lost = line.lost.as_ref().map(|how| self.is_lost(how));
        line.incidents.iter().cloned().chain(lost).collect()
    }

    /// What its newest samples said when it was last asked; asks it again, and waits for nothing.
    pub(crate) fn glance(&self) -> Option<Observed> {
        let mut line = self.observer.lock();
        line.look();
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

    /// The most that its clock ran away from ours.
    pub(crate) fn drift(&self) -> Option<Duration> {
        self.observer.lock().group.drift()
    }

    /// All that it saw so far, while it goes on; nothing where it is lost.
    pub(crate) fn so_far(&self) -> Option<Observed> {
        let mut line = self.observer.lock();
        line.hand_over(&AgentCommand::SoFar);
        line.observed.clone().filter(|_| line.lost.is_none())
    }

    /// Ends the sampling and hands out what was seen: of one that is lost what it had handed over until then, if it had been asked.
    pub(crate) fn finish(self) -> Observed {
        let mut line = self.observer.lock();
        line.hand_over(&AgentCommand::Collect);
        let mut seen = line.observed.take().unwrap_or_default();
        seen.incidents.extend(line.lost.as_ref().map(|how| self.is_lost(how)));
        seen
    }
}
