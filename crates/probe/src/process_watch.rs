//! Watches whether processes still run. If a process stops or ends, later counter values cannot be compared with
//! earlier values. The watch therefore records each stop and each end as an incident with its time.
//!
//! The stat file of each process stays open, so an ended process is not confused with a new process that has the same
//! ID. A shortage of file descriptors is never mistaken for the end of a process. Source: proc_pid_stat(5).

use std::fs::File;
use std::time::Duration;

use run::{Address, Incident, IncidentKind, ObserverSpec, Role};

use crate::find::find_server;
use crate::reread_file::reread;
use crate::text::{StatState, stat_fields, stat_state};

/// Maximum number of recorded incidents, not counting the end and the return of the server. A program that limits the
/// CPU time of processes (such as cpulimit) stops them many times a second.
const MAX_INCIDENTS: usize = 256;

/// Interval between checks of the processes.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// State of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    /// A signal has stopped the process. A signal has stopped the process. The value is the index of the incident, or
    /// `None` if the list of incidents was full.
    Stopped(Option<usize>),
    Ended,
}

#[derive(Debug)]
struct Process {
    instance: String,
    stat: File,
    state: State,
}

/// Watches the processes of one side of a load test (server or load generator).
#[derive(Debug, Default)]
pub struct ProcessWatch {
    role: Role,
    processes: Vec<Process>,
    /// Listen address of the processes, if it is in the caller's network namespace.
    listen: Option<Address>,
    next_ns: u64,
    incidents: Vec<Incident>,
    buffer: Vec<u8>,
}

impl ProcessWatch {
    /// Creates a watch over the currently running processes of a spec.
    pub(crate) fn new(spec: &ObserverSpec) -> Self {
        let mut buffer = Vec::new();
        let mut open = |pid: &u32| {
            let stat = File::open(format!("/proc/{pid}/stat")).ok()?;
            let (comm, state) = look_at(&stat, &mut buffer).ok()??;
            (!state.has_ended).then(|| Process { instance: format!("{comm}:{pid}"), stat, state: State::Runs })
        };
        let processes: Vec<Process> = spec.processes.iter().filter_map(&mut open).collect();
        // The server may have ended between two load tests. A read error other than `NotFound` does not prove that a
        // process ended.
        let missing = |pid: &u32| match std::fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => stat_fields(&text).and_then(|(_, rest)| stat_state(rest)).is_some_and(|state| state.has_ended),
            Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        };
        let before = spec.role == Role::Server && processes.is_empty() && !spec.processes.is_empty();
        let ended = (before && spec.processes.iter().all(missing)).then(|| {
            let text = "the server ended before the trial".to_string();
            Incident { kind: IncidentKind::ServerEnded, begin_s: 0.0, end_s: None, text }
        });
        Self {
            role: spec.role,
            processes,
            incidents: ended.into_iter().collect(),
            listen: spec.listen.clone().filter(|_| spec.netns_pid.is_none()),
            ..Self::default()
        }
    }

    /// Returns the time of the next check on the monotonic clock; `u64::MAX` if all processes have ended.
    pub(crate) fn due_ns(&self) -> u64 {
        let ended = self.processes.iter().all(|p| p.state == State::Ended);
        if ended { u64::MAX } else { self.next_ns }
    }

    /// Checks whether all watched processes still run. `at_s` is the present time, in seconds since the start of the
    /// load test. Returns true if there is a new incident.
    pub(crate) fn look(&mut self, at_s: f64, now_ns: u64) -> bool {
        self.next_ns = now_ns + CHECK_INTERVAL.as_nanos() as u64;
        // Incidents before the load test's origin (time zero), while the generators start, get the time 0.
        let at_s = at_s.max(0.0);
        let (mut changed, mut ended) = (false, Vec::new());
        for at in 0..self.processes.len() {
            let process = &self.processes[at];
            let next = Some(self.incidents.len()).filter(|next| *next < MAX_INCIDENTS);
            let seen = seen(process, next, &mut self.buffer);
            if seen == process.state {
                continue;
            }
            changed = true;
            self.goes_on(at, seen, at_s);
            match seen {
                State::Stopped(_) => self.stopped(at, at_s),
                State::Ended => ended.push(self.processes[at].instance.clone()),
                State::Runs => {}
            }
            self.processes[at].state = seen;
        }
        self.ended(&ended, at_s);
        changed
    }

    /// Returns the incidents so far.
    pub(crate) fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    /// Ends the watch, and returns all incidents. If the server has ended and a new server listens on its address, the
    /// last incident names the new server's processes.
    pub(crate) fn finish(mut self, at_s: f64) -> Vec<Incident> {
        let gone = self.incidents.iter().any(|i| i.kind == IncidentKind::ServerEnded);
        let Some(found) = self.listen.clone().filter(|_| gone).and_then(|addr| find_server(addr).ok()) else {
            return self.incidents;
        };
        let who: Vec<String> = found.pids.iter().map(|pid| instance(*pid, &mut self.buffer)).collect();
        let text = format!(
            "a server was started anew: {} listens at {at_s:.1} s; its counters are not in this trial",
            who.join(", ")
        );
        self.incidents.push(Incident { kind: IncidentKind::ServerReturned, begin_s: at_s, end_s: None, text });
        self.incidents
    }

    fn stopped(&mut self, at: usize, at_s: f64) {
        let (kind, who) = match self.role {
            Role::Server => (IncidentKind::ServerStopped, "the server's"),
            Role::Client => (IncidentKind::GeneratorStopped, "the generator's"),
        };
        let text = format!("{who} process {} was stopped (SIGSTOP) at {at_s:.1} s", self.processes[at].instance);
        self.add(Incident { kind, begin_s: at_s, end_s: None, text });
    }

    /// Records that a stopped process has continued or ended.
    fn goes_on(&mut self, at: usize, seen: State, at_s: f64) {
        if let State::Stopped(Some(incident)) = self.processes[at].state
            && let Some(incident) = self.incidents.get_mut(incident)
        {
            let what = if seen == State::Runs { "it went on" } else { "it ended" };
            incident.end_s = Some(at_s);
            incident.text += &format!("; {what} at {at_s:.1} s");
        }
    }

    fn ended(&mut self, who: &[String], at_s: f64) {
        // A generator reports its end itself, so no incident is needed.
        if who.is_empty() || self.role == Role::Client {
            return;
        }
        let left = self.processes.iter().filter(|p| p.state != State::Ended).count();
        let who = who.join(", ");
        let (kind, text) = match left {
            0 => (IncidentKind::ServerEnded, format!("the server ended at {at_s:.1} s ({who})")),
            _ => (
                IncidentKind::WorkerEnded,
                format!("of the server's processes {who} ended at {at_s:.1} s, {left} went on"),
            ),
        };
        self.add(Incident { kind, begin_s: at_s, end_s: None, text });
    }

    /// Adds an incident if the list is not full. An incident about the end of the server is added even if the list is
    /// full.
    fn add(&mut self, incident: Incident) {
        if self.incidents.len() < MAX_INCIDENTS || incident.kind == IncidentKind::ServerEnded {
            self.incidents.push(incident);
        }
    }
}

/// Returns the state of a process, or its last known state if the file cannot be read. A traced process (state letter
/// `t`) stops at each system call and continues, so it does not count as stopped.
fn seen(process: &Process, incident: Option<usize>, buffer: &mut Vec<u8>) -> State {
    let look = look_at(&process.stat, buffer).map(|look| look.map(|(_, state)| state));
    match (look, process.state) {
        (_, State::Ended) | (Ok(Some(StatState { has_ended: true, .. })), _) => State::Ended,
        (Err(e), _) if e.raw_os_error() == Some(sys::Errno::SRCH.raw_os_error()) => State::Ended,
        (Ok(Some(StatState { letter: b'T', .. })), State::Stopped(since)) => State::Stopped(since),
        (Ok(Some(StatState { letter: b'T', .. })), State::Runs) => State::Stopped(incident),
        (Ok(Some(_)), _) => State::Runs,
        (Ok(None) | Err(_), before) => before,
    }
}

/// Reads name and state of a process. Returns `None` if the text has another format.
fn look_at(stat: &File, buffer: &mut Vec<u8>) -> std::io::Result<Option<(String, StatState)>> {
    let fields = stat_fields(reread(stat, buffer)?);
    Ok(fields.and_then(|(comm, rest)| Some((comm, stat_state(rest)?))))
}

fn instance(pid: u32, buffer: &mut Vec<u8>) -> String {
    let stat = File::open(format!("/proc/{pid}/stat"));
    let comm = stat.and_then(|stat| look_at(&stat, buffer)).ok().flatten().map(|(comm, _)| comm);
    comm.map_or_else(|| pid.to_string(), |comm| format!("{comm}:{pid}"))
}

#[cfg(test)]
mod tests;
