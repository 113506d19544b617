//! Watches whether the server's processes run while a trial goes on: one that was stopped, ended, or took another's place
//! makes every figure of the trial mean something else, so it is said with its time.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use run::{Incident, IncidentKind};

/// How often the processes are looked at.
const EVERY: Duration = Duration::from_millis(50);
/// After all have ended, answers that come this much later are another process's.
const BURIED: Duration = Duration::from_millis(300);

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    Stopped(usize),
    Ended,
}

#[derive(Debug)]
struct Process {
    pid: u32,
    name: String,
    state: State,
}

/// The processes of a server during a trial.
#[derive(Debug)]
pub(crate) struct Vigil {
    proc: PathBuf,
    processes: Vec<Process>,
    begin: Instant,
    next: Instant,
    incidents: Vec<Incident>,
    /// When the last process had ended, and what was completed by then.
    all_ended: Option<(Instant, Option<u64>)>,
    addr: Option<SocketAddr>,
}

impl Vigil {
    /// A watch over these processes of this machine; times count from `begin`. `addr` is where they listen in our own
    /// network namespace.
    pub(crate) fn over(pids: &[u32], addr: Option<SocketAddr>, begin: Instant) -> Self {
        Self::in_proc(Path::new("/proc"), pids, addr, begin)
    }

    fn in_proc(proc: &Path, pids: &[u32], addr: Option<SocketAddr>, begin: Instant) -> Self {
        let mut vigil = Self {
            proc: proc.into(),
            processes: Vec::new(),
            begin,
            next: Instant::now(),
            incidents: Vec::new(),
            all_ended: None,
            addr,
        };
        for &pid in pids {
            let (name, state) = vigil.look_at(pid);
            if state != Some('Z') && state.is_some() {
                vigil.processes.push(Process { pid, name, state: State::Runs });
            }
        }
        vigil
    }

    /// Looks, when it is time; `completed` is how many answers came so far.
    pub(crate) fn look(&mut self, completed: u64) {
        let now = Instant::now();
        if now < self.next || self.processes.is_empty() {
            return;
        }
        self.next = now + EVERY;
        let at_s = self.since_begin(now);
        for i in 0..self.processes.len() {
            let (_, letter) = self.look_at(self.processes[i].pid);
            self.changed(i, letter, at_s);
        }
        self.returned(now, completed);
    }

    fn changed(&mut self, i: usize, letter: Option<char>, at_s: f64) {
        let process = &mut self.processes[i];
        let seen = match letter {
            None | Some('Z' | 'X') => State::Ended,
            Some('T' | 't') => State::Stopped(self.incidents.len()),
            Some(_) => State::Runs,
        };
        match (process.state, seen) {
            (State::Ended, _) | (State::Runs, State::Runs) | (State::Stopped(_), State::Stopped(_)) => return,
            (State::Stopped(incident), _) => {
                let what = if seen == State::Runs { "it went on" } else { "it ended" };
                if let Some(incident) = self.incidents.get_mut(incident) {
                    incident.end_s = Some(at_s);
                    incident.text += &format!("; {what} at {at_s:.1} s");
                }
            }
            (State::Runs, State::Stopped(_)) => {
                let text = format!("the server's process {} was stopped (SIGSTOP) at {at_s:.1} s", process.name);
                self.incidents.push(Incident { kind: IncidentKind::ServerStopped, begin_s: at_s, end_s: None, text });
            }
            (State::Runs, State::Ended) => {
                let text = format!("the server's process {} ended at {at_s:.1} s", process.name);
                self.incidents.push(Incident { kind: IncidentKind::ServerEnded, begin_s: at_s, end_s: None, text });
            }
        }
        self.processes[i].state = seen;
    }

    /// Answers after the end of all are those of a server that was started anew.
    fn returned(&mut self, now: Instant, completed: u64) {
        if self.processes.iter().any(|p| p.state != State::Ended) {
            return;
        }
        let (ended, by_then) = self.all_ended.get_or_insert((now, None));
        if now < *ended + BURIED {
            return;
        }
        let by_then = *by_then.get_or_insert(completed);
        let at_s = self.since_begin(now);
        let known = self.incidents.iter_mut().filter(|i| i.kind == IncidentKind::ServerEnded && i.end_s.is_none());
        if completed > by_then {
            known.for_each(|i| i.end_s = Some(at_s));
        }
        let back = completed > by_then && !self.incidents.iter().any(|i| i.kind == IncidentKind::ServerReturned);
        if back {
            let who = self.addr.and_then(|addr| probe::find_server(addr).ok()).map(|found| {
                let names = found.pids.iter().map(|pid| self.look_at(*pid).0);
                format!(": {} listens now", names.collect::<Vec<_>>().join(", "))
            });
            let text = format!(
                "answers came again at {at_s:.1} s: a server was started anew{}; its counters are not in this trial",
                who.unwrap_or_default()
            );
            self.incidents.push(Incident { kind: IncidentKind::ServerReturned, begin_s: at_s, end_s: None, text });
        }
    }

    /// What happened.
    pub(crate) fn finish(self) -> Vec<Incident> {
        self.incidents
    }

    fn since_begin(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.begin).as_secs_f64()
    }

    /// Name and state letter of a process (proc_pid_stat(5)); no letter where there is none.
    fn look_at(&self, pid: u32) -> (String, Option<char>) {
        let text = std::fs::read_to_string(self.proc.join(pid.to_string()).join("stat")).unwrap_or_default();
        // The name is in parentheses and may hold any character, so the last one ends it.
        let parts = text.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
        match parts {
            Some((name, rest)) => (format!("{name}:{pid}"), rest.trim_start().chars().next()),
            None => (pid.to_string(), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stage(tempfile::TempDir);

    impl Stage {
        fn set(&self, pid: u32, letter: Option<char>) {
            let dir = self.0.path().join(pid.to_string());
            std::fs::create_dir_all(&dir).unwrap();
            match letter {
                Some(letter) => std::fs::write(dir.join("stat"), format!("{pid} (a) b) {letter} 1 2")).unwrap(),
                None => std::fs::remove_dir_all(dir).unwrap(),
            }
        }

        fn vigil(&self, pids: &[u32]) -> Vigil {
            Vigil::in_proc(self.0.path(), pids, None, Instant::now())
        }
    }

    fn see(vigil: &mut Vigil, completed: u64) {
        vigil.next = Instant::now();
        vigil.look(completed);
    }

    #[test]
    fn a_server_that_runs_is_nothing_to_tell() {
        let stage = Stage(tempfile::tempdir().unwrap());
        stage.set(7, Some('S'));
        let mut vigil = stage.vigil(&[7, 8]);
        see(&mut vigil, 1);
        stage.set(7, Some('R'));
        see(&mut vigil, 2);
        assert_eq!(vigil.finish(), []);
    }

    #[test]
    fn stops_and_ends_are_told_once_with_their_times() {
        let stage = Stage(tempfile::tempdir().unwrap());
        stage.set(7, Some('S'));
        stage.set(8, Some('S'));
        let mut vigil = stage.vigil(&[7, 8]);
        for letter in ['T', 'T', 'R', 'S'] {
            stage.set(7, Some(letter));
            see(&mut vigil, 5);
        }
        stage.set(7, None);
        stage.set(8, Some('Z'));
        see(&mut vigil, 5);
        see(&mut vigil, 6);
        let kinds: Vec<_> = vigil.incidents.iter().map(|i| (i.kind, i.end_s.is_some())).collect();
        let (stopped, ended) = (IncidentKind::ServerStopped, IncidentKind::ServerEnded);
        assert_eq!(kinds, [(stopped, true), (ended, false), (ended, false)]);
        assert!(vigil.incidents[0].text.contains("a) b:7") && vigil.incidents[0].text.contains("it went on"));
    }

    #[test]
    fn answers_after_the_end_are_a_new_servers() {
        let stage = Stage(tempfile::tempdir().unwrap());
        stage.set(7, Some('S'));
        let mut vigil = stage.vigil(&[7]);
        stage.set(7, None);
        see(&mut vigil, 5);
        // Answers that were on the way when it ended are its own.
        see(&mut vigil, 9);
        std::thread::sleep(BURIED);
        see(&mut vigil, 9);
        assert_eq!(vigil.incidents.len(), 1);
        see(&mut vigil, 10);
        see(&mut vigil, 11);
        let kinds: Vec<_> = vigil.finish().into_iter().map(|i| (i.kind, i.end_s.is_some())).collect();
        assert_eq!(kinds, [(IncidentKind::ServerEnded, true), (IncidentKind::ServerReturned, false)]);
    }
}
