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
    /// A signal has stopped the process. The number is the index of the incident, or `None` if the list of incidents
    /// was full.
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
        // A generator reports its end itself, so the end needs no incident here.
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
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// `sleep` processes that are killed at the end of the test.
    struct Sleepers(Vec<Child>);

    impl Sleepers {
        fn start(n: usize) -> Self {
            Self((0..n).map(|_| Command::new("sleep").arg("60").spawn().unwrap()).collect())
        }

        fn life(&self, role: Role) -> ProcessWatch {
            let processes = self.0.iter().map(Child::id).collect();
            ProcessWatch::new(&ObserverSpec { role, processes, ..ObserverSpec::default() })
        }

        /// Sends a signal and waits until /proc/PID/stat shows one of the state letters in `letters`.
        fn signal(&self, at: usize, name: &str, letters: &[u8]) {
            let pid = self.0[at].id();
            Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
            let stat = File::open(format!("/proc/{pid}/stat")).unwrap();
            let there = || {
                look_at(&stat, &mut Vec::new()).ok().flatten().is_some_and(|(_, state)| letters.contains(&state.letter))
            };
            let deadline = std::time::Instant::now() + Duration::from_secs(20);
            while !there() {
                assert!(std::time::Instant::now() < deadline, "{name} did nothing");
                std::thread::yield_now();
            }
        }
    }

    impl Drop for Sleepers {
        fn drop(&mut self) {
            self.0.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
        }
    }

    fn kinds(life: &ProcessWatch) -> Vec<(IncidentKind, Option<f64>)> {
        life.incidents().iter().map(|i| (i.kind, i.end_s)).collect()
    }

    #[test]
    fn running_processes_cause_no_incident() {
        let sleepers = Sleepers::start(1);
        let mut life = sleepers.life(Role::Server);
        assert!(!life.look(0.1, 0) && !life.look(0.2, 0));
        assert!(life.finish(0.3).is_empty());
    }

    #[test]
    fn stops_and_ends_are_reported_once_with_their_times() {
        let sleepers = Sleepers::start(2);
        let mut life = sleepers.life(Role::Server);
        sleepers.signal(0, "STOP", b"T");
        assert!(life.look(0.1, 0) && !life.look(0.2, 0));
        sleepers.signal(0, "CONT", b"SR");
        life.look(0.3, 0);
        sleepers.signal(0, "KILL", b"Z");
        life.look(0.4, 0);
        sleepers.signal(1, "KILL", b"Z");
        assert!(life.look(0.5, 0) && !life.look(0.6, 0));
        let (stopped, worker, server) =
            (IncidentKind::ServerStopped, IncidentKind::WorkerEnded, IncidentKind::ServerEnded);
        assert_eq!(kinds(&life), [(stopped, Some(0.3)), (worker, None), (server, None)]);
        assert!(life.incidents[0].text.contains("sleep:") && life.incidents[0].text.contains("went on at 0.3 s"));
        assert_eq!(life.due_ns(), u64::MAX, "nobody is left to look at");
    }

    #[test]
    fn a_server_goes_on_after_its_first_thread_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        let state = |threads: u32| {
            std::fs::write(&path, format!("7 (a) Z 5 7 7 0 -1 0 1 2 3 4 10 20 30 40 20 0 {threads} 0 99")).unwrap();
            let stat = File::open(&path).unwrap();
            let process = Process { instance: "a:7".into(), stat, state: State::Runs };
            seen(&process, None, &mut Vec::new())
        };
        assert_eq!((state(4), state(1)), (State::Runs, State::Ended));
    }

    /// A program such as cpulimit stops the server and lets it continue, again and again for hours.
    #[test]
    fn the_number_of_incidents_is_bounded() {
        let sleepers = Sleepers::start(1);
        let mut life = sleepers.life(Role::Server);
        for at in 0..2 * MAX_INCIDENTS {
            // The process is running, but the test marks it as stopped. The next check therefore records that the
            // process continued.
            let next = Some(life.incidents.len()).filter(|next| *next < MAX_INCIDENTS);
            life.stopped(0, at as f64);
            life.processes[0].state = State::Stopped(next);
            life.look(at as f64 + 0.5, 0);
        }
        assert_eq!(life.incidents().len(), MAX_INCIDENTS);
        assert!(life.incidents().iter().all(|i| i.end_s == Some(i.begin_s + 0.5)), "{:?}", life.incidents().last());
        sleepers.signal(0, "KILL", b"Z");
        life.look(1e6, 0);
        assert_eq!(kinds(&life).last(), Some(&(IncidentKind::ServerEnded, None)), "the end is never left out");
    }

    #[test]
    fn a_server_that_had_ended_before_is_reported_at_once() {
        let mut sleepers = Sleepers::start(2);
        (0..2).for_each(|at| sleepers.signal(at, "KILL", b"Z"));
        sleepers.0[0].wait().unwrap();
        assert_eq!(kinds(&sleepers.life(Role::Server)), [(IncidentKind::ServerEnded, None)]);
    }

    #[test]
    fn processes_that_end_together_are_one_incident() {
        let mut sleepers = Sleepers::start(2);
        let mut life = sleepers.life(Role::Server);
        (0..2).for_each(|at| sleepers.signal(at, "KILL", b"Z"));
        // One process has vanished. The other process is still a zombie, because its parent has not waited for it.
        sleepers.0[0].wait().unwrap();
        life.look(0.1, 0);
        assert_eq!(kinds(&life), [(IncidentKind::ServerEnded, None)]);
    }

    #[test]
    fn a_stopped_generator_is_reported_but_an_ended_one_reports_itself() {
        let sleepers = Sleepers::start(1);
        let mut life = sleepers.life(Role::Client);
        sleepers.signal(0, "STOP", b"T");
        life.look(0.1, 0);
        sleepers.signal(0, "KILL", b"Z");
        life.look(0.2, 0);
        assert_eq!(kinds(&life), [(IncidentKind::GeneratorStopped, Some(0.2))]);
    }
}
