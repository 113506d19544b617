//! Observer on another host: an agent that is controlled by commands. Like a local observer, the remote observer is
//! used for a whole run. If the agent is lost, the run has an incident, and observations of the load test are missing.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use run::{
    AgentCommand, AgentReport, AgentSpec, Incident, IncidentKind, Observed, Recording, WatchSpec, WatchedHost, Window,
};
use sys::clock::Origin;

use crate::agents::{ASK_EVERY, Agent, AgentEvent, AgentGroup, is_possible};
use crate::{Host, LabError};

/// Maximum time for an observer to start.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time to wait for an answer, in addition to two round trips.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of values accepted from a host: several times the number recorded in eight hours.
const MAX_VALUES: usize = 64 << 20;

#[derive(Debug, Default)]
struct Connection {
    group: AgentGroup,
    incidents: Vec<Incident>,
    /// Number of requested samples.
    ordered: u64,
    /// Number of requested samples that the agent has taken.
    taken: u64,
    /// Time of each taken sample, seconds since the load test's origin, on the agent's clock and on ours.
    edges: Vec<(f64, f64)>,
    /// Samples that have arrived, while other observations are still missing.
    rows: Recording,
    /// Latest complete observations; `None` before the first observations.
    observed: Option<Observed>,
    /// Number of times that observations were requested from the observer.
    wanted: u64,
    /// Number of complete answers to requests for observations.
    came: u64,
    /// Newest samples for the live view; `None` before the first samples.
    glance: Option<Observed>,
    /// True while the live view waits for newer samples.
    asked: bool,
    lost: Option<String>,
    /// Time of the next clock question; `None` before the first load test.
    ask_at: Option<Instant>,
}

/// Observer on another host.
#[derive(Clone, Debug)]
pub struct RemoteObserver {
    host: String,
    found: WatchedHost,
    connection: Arc<Mutex<Connection>>,
}

impl RemoteObserver {
    /// Starts an observer on a host.
    pub fn start(host: &dyn Host, program: &Path, spec: WatchSpec) -> Result<Self, LabError> {
        let mut group = AgentGroup::default();
        group.start(host, program, &format!("observer on {}", host.name()), &AgentSpec::Watch(spec))?;
        let ready = group.await_ready(READY_TIMEOUT)?.into_iter().next().unwrap_or_default();
        let connection = Connection { group, ..Connection::default() };
        Ok(Self {
            host: host.name().into(),
            found: ready.watching.unwrap_or_default(),
            connection: Arc::new(Mutex::new(connection)),
        })
    }

    /// Returns the name of the observer's host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the facts that the observer found on its host.
    pub fn found(&self) -> &WatchedHost {
        &self.found
    }

    /// Returns the boot ID of the observer's machine.
    pub fn machine(&self) -> String {
        let connection = self.lock();
        connection.group.agents().first().and_then(Agent::hello).map(|hello| hello.machine.clone()).unwrap_or_default()
    }

    /// Returns the number of CPUs that a process on the observer's host may use. Limits the number that the agent sent,
    /// because lists of that length are allocated.
    pub(crate) fn processors(&self) -> u32 {
        let connection = self.lock();
        let hello = connection.group.agents().first().and_then(Agent::hello);
        hello.map_or(0, |hello| hello.cpus.min(probe::MAX_CPUS))
    }

    /// Starts sampling for a load test. Observes the processes in `pids` in addition to those that the observer already
    /// follows. Times of samples are relative to `origin`.
    pub(crate) fn follow(&self, pids: Vec<u32>, interval_s: f64, origin: Origin) -> RemoteSampling {
        let mut connection = self.lock();
        connection.incidents.clear();
        (connection.edges, connection.observed) = (Vec::new(), None);
        (connection.glance, connection.asked) = (None, false);
        connection.group.compare_clocks();
        connection.ask_at = Some(Instant::now() + ASK_EVERY);
        connection.group.begin_at(origin, |origin_ns| AgentCommand::Follow {
            pids: pids.clone(),
            origin_ns,
            interval_s,
        });
        RemoteSampling { observer: self.clone(), origin }
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Handles events until `is_so` returns true, a deadline passes or the agent is gone.
    fn hear_until(&mut self, until: Instant, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) && self.lost.is_none() {
            let Some((_, event)) = self.group.hear(until) else { return };
            self.handle(event);
        }
    }

    fn handle(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Pong(n, theirs_ns, came_ns) => self.group.answered(0, (n, theirs_ns, came_ns)),
            AgentEvent::Gone(how) | AgentEvent::Report(AgentReport::Failed { error: how }) => self.lost = Some(how),
            AgentEvent::Report(AgentReport::Incidents { incidents }) => self.incidents = self.ours(incidents),
            // The recording will contain the exact time of the sample, so the sample can mark the start or end of the
            // measurement.
            AgentEvent::Report(AgentReport::Edge { t_s }) => {
                self.taken += 1;
                self.edges.push((t_s, self.group.ours_s(0, t_s)));
            }
            AgentEvent::Report(AgentReport::Rows(rows)) => self.rows(*rows),
            AgentEvent::Report(AgentReport::Observed(seen)) => self.observed(*seen),
            AgentEvent::Report(AgentReport::Latest(seen)) => (self.glance, self.asked) = (Some(*seen), false),
            AgentEvent::Report(_) => {}
        }
    }

    fn rows(&mut self, rows: Recording) {
        if self.rows.values() + rows.values() > MAX_VALUES {
            self.lost = Some(format!("it sent more than {MAX_VALUES} values of counters"));
        } else if !self.rows.append(rows) {
            self.lost = Some("it sent parts of a recording that do not fit together".into());
        }
    }

    /// Handles the last part of the observations, and converts their times to our clock.
    fn observed(&mut self, seen: Observed) {
        self.rows(seen.recording);
        let mut recording = std::mem::take(&mut self.rows);
        recording.t_s.iter_mut().for_each(|t_s| *t_s = self.ours_s(*t_s));
        let mut seen = Observed { recording, incidents: self.ours(seen.incidents), ..seen };
        for stood in &mut seen.pauses {
            *stood = Window { begin_s: self.ours_s(stood.begin_s), end_s: self.ours_s(stood.end_s) };
        }
        seen.cpu_use.t_s.iter_mut().for_each(|t_s| *t_s = self.group.ours_s(0, *t_s));
        (self.observed, self.came) = (Some(seen), self.came + 1);
    }

    /// Converts a time on the agent's clock to ours. Later readings of the clock change the conversion. The start and
    /// the end of a measurement keep the times to which they were first converted.
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

    /// Handles events that have arrived, and compares clocks from time to time.
    fn handle_waiting(&mut self) {
        let now = Instant::now();
        if self.ask_at.is_some_and(|at| now >= at) {
            self.ask_at = Some(now + ASK_EVERY);
            self.group.ask_clocks();
        }
        self.hear_until(now, |_| false);
    }

    /// Requests the observations, and waits as long as further lines with observations keep arriving.
    fn request_observed(&mut self, command: &AgentCommand) {
        self.wanted += 1;
        self.group.tell_all(command);
        while self.came < self.wanted && self.lost.is_none() {
            let (had, until) = (self.rows.t_s.len(), Instant::now() + self.patience());
            self.hear_until(until, |connection| {
                connection.came >= connection.wanted || connection.rows.t_s.len() > had
            });
            if self.came < self.wanted && self.rows.t_s.len() == had && self.lost.is_none() {
                self.lost = Some("it did not send its counters in time".into());
            }
        }
    }

    fn patience(&self) -> Duration {
        ANSWER_TIMEOUT + 2 * self.group.longest_round_trip()
    }
}

/// Remote observer that is sampling a load test.
pub(crate) struct RemoteSampling {
    observer: RemoteObserver,
    origin: Origin,
}

impl RemoteSampling {
    /// Requests a sample at a moment of our clock.
    pub(crate) fn order_edge(&self, at_ns: u64) {
        let mut connection = self.observer.lock();
        connection.ordered += 1;
        connection.group.tell_each(|agent| AgentCommand::Edge { at_ns: agent.on_its_clock(at_ns) });
    }

    /// Waits for the requested sample and returns its time, seconds since the origin (time zero) of the load test.
    /// Returns `None` if the sample does not arrive in time. An observer that names an impossible time counts as lost:
    /// with its time, the measurement would begin or end at a wrong moment.
    pub(crate) fn await_edge(&self) -> Option<f64> {
        let mut connection = self.observer.lock();
        let until = Instant::now() + connection.patience();
        connection.hear_until(until, |connection| connection.taken >= connection.ordered);
        let last = connection.edges.last().filter(|_| connection.taken >= connection.ordered);
        let taken_s = last.map(|(_, ours_s)| *ours_s)?;
        if !is_possible(taken_s, self.origin.now_s()) {
            connection.lost.get_or_insert(format!("it took a sample at an impossible time ({taken_s:?} s)"));
            return None;
        }
        Some(taken_s)
    }

    /// Returns incidents of the processes on the observer's host, and an incident if the observer was lost.
    pub(crate) fn incidents(&self) -> Vec<Incident> {
        let mut connection = self.observer.lock();
        connection.handle_waiting();
        let lost = connection.lost.as_ref().map(|how| self.is_lost(how));
        connection.incidents.iter().cloned().chain(lost).collect()
    }

    /// Returns the newest samples that have arrived, and requests newer samples without waiting.
    pub(crate) fn glance(&self) -> Option<Observed> {
        let mut connection = self.observer.lock();
        connection.handle_waiting();
        if !connection.asked && connection.lost.is_none() {
            connection.asked = true;
            connection.group.tell_all(&AgentCommand::Latest);
        }
        connection.glance.clone()
    }

    fn is_lost(&self, how: &str) -> Incident {
        let text = format!("the observer on {} was lost, its counters are missing: {how}", self.observer.host);
        Incident { kind: IncidentKind::ObserverLost, begin_s: self.origin.now_s(), end_s: None, text }
    }

    /// Returns the round trip to the observer; zero if the observer is on this machine.
    pub(crate) fn round_trip(&self) -> Duration {
        self.observer.lock().group.longest_round_trip()
    }

    /// Returns the absolute drift of the observer's clock relative to ours since the load test began; `None` if the
    /// observer is on this machine.
    pub(crate) fn drift(&self) -> Option<Duration> {
        self.observer.lock().group.drift()
    }

    /// Returns the observations so far without ending the sampling; `None` if the observer is lost.
    pub(crate) fn so_far(&self) -> Option<Observed> {
        let mut connection = self.observer.lock();
        connection.request_observed(&AgentCommand::SoFar);
        connection.observed.clone().filter(|_| connection.lost.is_none())
    }

    /// Ends the sampling and returns the observations. If the observer was lost, returns the last complete
    /// observations, if there are any, and an incident.
    pub(crate) fn finish(self) -> Observed {
        let mut connection = self.observer.lock();
        connection.request_observed(&AgentCommand::Collect);
        let mut seen = connection.observed.take().unwrap_or_default();
        seen.incidents.extend(connection.lost.as_ref().map(|how| self.is_lost(how)));
        seen
    }
}

#[cfg(test)]
mod tests;
