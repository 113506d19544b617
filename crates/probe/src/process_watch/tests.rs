//! Tests with server processes that end, stop or start again.

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
        let there =
            || look_at(&stat, &mut Vec::new()).ok().flatten().is_some_and(|(_, state)| letters.contains(&state.letter));
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
    let (stopped, worker, server) = (IncidentKind::ServerStopped, IncidentKind::WorkerEnded, IncidentKind::ServerEnded);
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
    // One process has ended and was waited for, and the other process is still a zombie.
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
