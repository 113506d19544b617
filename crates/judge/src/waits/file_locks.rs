//! Locks on files (flock, fcntl) and System V semaphores, for which the kernel reports waiting threads.

use run::{CountedKind, ThreadState, WaitCause, WaitFinding, WaitProfile};

use super::activity::Activity;
use super::pools::demand_of;
use super::requests::Requests;
use crate::thresholds::{WAIT_FEW, WAIT_HOLDS_NONE, WAIT_HOLDS_TOO_MANY, WAIT_MOSTLY};

/// Returns the file locks for which requests wait, at most one for each process name.
///
/// Idle workers of Apache also wait for a file lock, before they accept a connection. Idle workers work on no request,
/// so while they wait, only the active threads count as requests in progress.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let of = |process| lock(profile, &Activity::of(profile, process), requests);
    profile.processes.iter().filter_map(of).collect()
}

fn lock(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let waits = activity.groups.iter().filter(|group| group.state == ThreadState::FileLock);
    let largest = waits.clone().max_by(|a, b| a.threads.total_cmp(&b.threads))?;
    let waiting: f64 = waits.map(|group| group.threads).sum();
    let active = activity.all_threads(|state| state.is_active() && state != ThreadState::FileLock);
    // If the process is an upstream, the server passes requests on to it. For Unix sockets, only the server's own
    // requests and its number of upstream connections are known.
    let sent = if process.behind { Some(demand_of(profile, process, requests)?) } else { None };
    let (low, high) = match sent.filter(|sent| sent.is_finite()) {
        Some(sent) => ((sent - active) / waiting, (sent - active) / waiting),
        None => {
            let (low, high) = requests.per_waiter(active, waiting)?;
            let senders = profile.peers.iter().filter(|peer| process.behind && peer.to == process.process);
            let open = senders.map(|peer| peer.open).reduce(|a, b| a + b).unwrap_or(f64::INFINITY);
            (low.min((open - active) / waiting), high.min((open - active) / waiting))
        }
    };
    // If all workers have a request and most of them wait for the lock, further requests wait for a free worker.
    let idle = activity.all_threads(|state| matches!(state, ThreadState::Accept | ThreadState::ClientRead));
    let is_full = idle < WAIT_FEW && waiting >= WAIT_MOSTLY * process.threads;
    let hold_one = low >= 1.0 - WAIT_HOLDS_NONE && (high <= WAIT_HOLDS_TOO_MANY || is_full);
    let others = activity.groups.iter().filter(|g| g.state.is_active() && g.state != ThreadState::FileLock);
    let holder = others.max_by(|a, b| a.threads.total_cmp(&b.threads)).map(|group| group.state);
    let is_of_processes = process.processes > 1.0;
    (waiting >= WAIT_MOSTLY && hold_one).then(|| WaitFinding {
        cause: WaitCause::Lock,
        name: format!("file lock, {}", largest.key),
        process: process.process.clone(),
        threads: waiting,
        of: if is_of_processes { process.processes.max(waiting) } else { process.threads },
        counted: if is_of_processes { CountedKind::Processes } else { CountedKind::Threads },
        holder,
        holder_probable: holder.is_some(),
        share: (waiting / process.threads.max(waiting)).min(1.0),
        ..WaitFinding::default()
    })
}

#[cfg(test)]
mod tests {
    use run::PeerConnections;

    use super::super::tests::{clients, peer, process};
    use super::super::{of_run, waits};
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// This test repeats a situation that was observed with eight workers of gunicorn that take one lock for each
    /// request.
    fn workers(in_progress: f64) -> WaitProfile {
        let states = [
            (ThreadState::FileLock, "flock", 6.92),
            (ThreadState::Events, "", 1.08),
            (ThreadState::Futex, "", 1.0),
            (ThreadState::Sleep, "", 0.92),
            (ThreadState::OnCpu, "", 0.08),
        ];
        let mut profile = process(10.0, &states);
        profile.processes[0].processes = 10.0;
        profile.clients = Some(clients(in_progress, 55.0));
        profile
    }

    #[test]
    fn workers_with_requests_that_wait_for_a_file_lock_are_told() {
        let found = waits(&workers(8.0), &[]);
        assert_eq!((found.len(), found[0].cause), (1, WaitCause::Lock), "{found:?}");
        let wanted = "6.92 of 10 processes of app:7 wait for one lock (file lock, flock); its holder probably sleeps";
        assert_eq!(found[0].sentence, wanted);
        // One of the ten processes has a second thread, which must not count as a process.
        let mut with_thread = workers(8.0);
        with_thread.processes[0].threads = 11.0;
        assert_eq!(waits(&with_thread, &[])[0].sentence, wanted);
    }

    /// In this observed case of PHP-FPM behind nginx, the requests open one PHP session, which is a locked file.
    #[test]
    fn workers_behind_the_server_may_wait_for_a_file_lock() {
        let mut behind = workers(8.0);
        behind.processes[0].behind = true;
        assert!(waits(&behind, &[]).is_empty(), "no process sends requests to it");
        behind.peers = vec![PeerConnections { busy: f64::NAN, ..peer("nginx:8", 8.0, 0.0) }];
        behind.peers[0].to = "app:7".into();
        assert_eq!(waits(&behind, &[])[0].cause, WaitCause::Lock);
        behind.clients = Some(clients(44.0, 0.0));
        assert_eq!(waits(&behind, &[])[0].cause, WaitCause::Lock, "most requests wait in nginx");
    }

    /// This test repeats a situation that was observed with PHP-FPM behind nginx, which opens a connection for each
    /// request. The counter of sent data misses connections that open and end between two readings. An earlier version
    /// of loadline therefore took these connections for long polls, and did not name the lock.
    #[test]
    fn a_connection_for_each_request_is_no_poll_for_news() {
        let names_the_lock = |opens: f64| {
            let mut profile = workers(32.0);
            profile.processes[0].behind = true;
            let to = "app:7".into();
            profile.peers =
                vec![PeerConnections { to, answers: Some(1.02), max_open: 32.0, ..peer("nginx:8", 19.3, 19.3) }];
            let mut run = PlantedRun::new(9000.0, 111.0)
                .steps(&[1, 2, 4, 8, 16])
                .rates(&[])
                .per_s(Who::Server, "behind.data_out", "10.0.0.2:5432", |_| 16.0)
                .per_s(Who::Server, "tcp.active_opens", "", move |p| opens * p.x)
                .change(move |trial, _| {
                    trial.server.iter_mut().for_each(|side| side.waits = Some(Box::new(profile.clone())));
                })
                .run();
            crate::context::sides::derive(&mut run);
            of_run(&run, |_| false).iter().any(|found| found.cause == WaitCause::Lock)
        };
        assert!(names_the_lock(1.0));
        assert!(!names_the_lock(0.0), "replies on kept connections take longer than any request");
    }

    /// In this observed case of 24 PHP-FPM workers, all requests open one PHP session, which is a locked file.
    #[test]
    fn requests_that_wait_for_a_worker_do_not_hide_the_lock() {
        let full = |accepting: f64| {
            let states = [(ThreadState::FileLock, "sess_1", 23.0), (ThreadState::Accept, "", accepting)];
            let mut profile = process(25.0, &states);
            profile.clients = Some(clients(55.0, 0.0));
            waits(&profile, &[]).iter().any(|found| found.cause == WaitCause::Lock)
        };
        assert!(full(0.0) && !full(2.0), "idle workers would accept the other requests");
    }

    #[test]
    fn idle_workers_that_wait_to_accept_are_not() {
        assert!(waits(&workers(1.0), &[]).iter().all(|found| found.cause != WaitCause::Lock));
    }
}
