//! A server whose only worker is blocked while more requests wait. The worker is one process with one thread, and
//! without an event loop.

use run::{ThreadState, WaitCause, WaitFinding, WaitProcess, WaitProfile};

use super::activity::{Activity, cause_of, names_call};
use super::functions;
use super::loops::is_event_loop;
use super::pools;
use super::requests::Requests;
use crate::thresholds::{WAIT_FEW, WAIT_MOSTLY, WAIT_QUEUE};

/// Returns the wait of the only worker. Returns `None` if the worker is rarely blocked, or if no requests wait for the
/// worker. Besides the worker, only its parent process may exist.
pub(super) fn blocked(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let all = process.processes.max(1.0);
    let is_one =
        !is_event_loop(process) && process.threads < process.processes + WAIT_FEW && all - 1.0 < 1.0 + WAIT_FEW;
    let (state, threads, key) = wait(activity, requests)?;
    let [cpu, idle] = [ThreadState::wants_cpu, ThreadState::is_idle].map(|state| activity.all_threads(state));
    let is_blocked =
        threads >= WAIT_MOSTLY.max(cpu) && threads < 1.0 + WAIT_FEW && idle < activity.workers - 1.0 + WAIT_FEW;
    if !is_one || !is_blocked || !is_queue_before(profile, process, requests) {
        return None;
    }
    let finding = WaitFinding {
        cause: cause_of(state)?,
        name: if state == ThreadState::Disk { key.clone() } else { String::new() },
        process: process.process.clone(),
        threads,
        of: process.threads,
        function: functions::mostly_in(profile, process),
        share: threads.min(1.0),
        ..WaitFinding::default()
    };
    Some(with_holder(finding, state, &key))
}

/// Returns true if a finding is the wait of a server's only worker.
pub(crate) const fn is_only_worker(finding: &WaitFinding) -> bool {
    let is_wait = matches!(finding.cause, WaitCause::Sleep | WaitCause::Peer | WaitCause::Disk);
    is_wait && finding.holder.is_some() && finding.session.is_none()
}

/// Returns the most frequent wait, the number of threads in this wait, and the object that these threads wait for.
///
/// A worker may open a connection to a peer for each request. A wait for a new socket therefore counts as a wait for a
/// peer, but only while a request is in progress. If no request is in progress, the new socket may belong to a client.
fn wait(activity: &Activity<'_>, requests: &Requests) -> Option<(ThreadState, f64, String)> {
    let known = activity.blocked();
    let new = activity.all_threads(|state| state == ThreadState::NewSocket);
    let (peer, key) = match &known {
        Some((ThreadState::Peer, threads, key)) => (new + threads, key.clone()),
        _ => (new, String::new()),
    };
    let has_request = !activity.process.behind && requests.in_progress().is_some_and(|(low, _)| low >= peer);
    let is_most = new > 0.0 && known.as_ref().is_none_or(|(_, threads, _)| peer > *threads);
    if is_most && has_request { Some((ThreadState::Peer, peer, key)) } else { known }
}

/// Returns true if the worker works on one request while other requests wait for the worker.
///
/// For a worker of an upstream service, counts the requests that other sampled processes sent to this worker. For any
/// other worker, returns false if the server has read more than about one request. An event loop may have read these
/// requests, so a sleeping program beside it is not the only worker.
fn is_queue_before(profile: &WaitProfile, process: &WaitProcess, requests: &Requests) -> bool {
    let all = process.processes.max(1.0);
    if process.behind {
        return pools::demand_of(profile, process, requests).is_some_and(|sent| sent >= all + WAIT_QUEUE);
    }
    let others = profile.groups.iter().filter(|group| group.process != process.process);
    let busy: f64 = others.filter(|group| group.state.wants_cpu()).map(|group| group.threads).sum();
    let reads_one = requests.in_progress().is_some_and(|(low, _)| low <= 1.0 + WAIT_QUEUE);
    reads_one && busy < WAIT_MOSTLY && requests.queued >= all - 1.0 + WAIT_QUEUE
}

/// Adds the blocked thread's activity, and the object that the thread waits for, to a finding.
pub(super) fn with_holder(finding: WaitFinding, state: ThreadState, key: &str) -> WaitFinding {
    let key_if = |is_named: bool| if is_named { key.to_string() } else { String::new() };
    let (peer, holder_call) = (key_if(state == ThreadState::Peer), key_if(names_call(state)));
    WaitFinding { holder: Some(state), peer, holder_call, ..finding }
}

#[cfg(test)]
mod tests {
    use run::{StackProfile, StackSum};

    use super::super::tests::{clients, peer, process};
    use super::super::waits;
    use super::*;

    /// Returns the made-up profile of a worker that waits in the given state, while seven more requests wait for the
    /// worker.
    fn worker(state: ThreadState, key: &str) -> WaitProfile {
        let mut profile = process(1.0, &[(state, key, 0.93), (ThreadState::OnCpu, "", 0.07)]);
        let stack = StackSum { stack: "app;main;slow;recv_reply;__libc_recv".into(), weight: 0.93 };
        profile.stacks = Some(StackProfile { waiting: vec![stack], ..StackProfile::default() });
        profile.clients = Some(clients(1.0, 7.0));
        profile
    }

    #[test]
    fn the_only_worker_is_told_with_its_wait_and_its_function() {
        let rows = [
            (ThreadState::Sleep, "", WaitCause::Sleep, "sleeps"),
            (ThreadState::Peer, "10.0.0.2:80", WaitCause::Peer, "waits for a reply of 10.0.0.2:80"),
            (ThreadState::Disk, "fsync of /log", WaitCause::Disk, "waits for the disk in fsync of /log"),
        ];
        for (state, key, cause, does) in rows {
            let found = waits(&worker(state, key), &[]);
            assert_eq!((found.len(), found[0].cause, found[0].function.as_str()), (1, cause, "recv_reply"));
            assert_eq!(found[0].sentence, format!("the only worker of app:7 {does} in recv_reply while requests wait"));
        }
    }

    #[test]
    fn a_new_connection_for_each_request_leads_to_a_peer_if_a_request_was_read() {
        let mut profile = worker(ThreadState::NewSocket, "");
        let found = waits(&profile, &[]);
        let sentence = "the only worker of app:7 waits for a reply of another server in recv_reply while requests wait";
        assert_eq!((found.len(), found[0].cause, found[0].sentence.as_str()), (1, WaitCause::Peer, sentence));
        profile.clients = Some(clients(0.1, 7.0));
        assert!(waits(&profile, &[]).is_empty(), "it may wait for the request of a new client");
    }

    #[test]
    fn the_only_worker_beside_its_parent_is_told() {
        let mut profile = worker(ThreadState::Sleep, "");
        profile.processes[0] = WaitProcess { processes: 2.0, threads: 2.0, ..profile.processes[0].clone() };
        let parent = run::WaitGroup { state: ThreadState::Events, threads: 1.0, ..profile.groups[0].clone() };
        profile.groups.push(parent);
        assert_eq!(waits(&profile, &[])[0].cause, WaitCause::Sleep);
        profile.clients = Some(clients(1.0, 0.6));
        assert!(waits(&profile, &[]).is_empty(), "one of two workers is idle");
    }

    #[test]
    fn a_worker_with_time_left_and_a_helper_are_not_told() {
        let none = |why: &str, change: fn(&mut WaitProfile)| {
            let mut profile = worker(ThreadState::Sleep, "");
            change(&mut profile);
            assert!(waits(&profile, &[]).is_empty(), "{why}");
        };
        none("one request at a time", |p| p.clients = Some(clients(0.93, 0.0)));
        none("a loop beside it has read the requests", |p| p.clients = Some(clients(8.0, 0.0)));
        none("unknown requests", |p| p.clients = None);
        none("half of the time is idle", |p| {
            p.groups[0].threads = 0.5;
            p.groups.push(run::WaitGroup { state: ThreadState::Accept, threads: 0.43, ..p.groups[0].clone() });
        });
        none("another process computes", |p| {
            p.groups.push(run::WaitGroup { process: "main:3".into(), threads: 1.0, ..p.groups[1].clone() });
        });
        none("a process behind the server without requests", |p| p.processes[0].behind = true);
    }

    #[test]
    fn the_only_worker_behind_a_proxy_has_the_requests_that_the_proxy_sent() {
        let mut profile = worker(ThreadState::Sleep, "");
        profile.processes[0].behind = true;
        profile.clients = Some(clients(8.0, 0.0));
        profile.peers = vec![run::PeerConnections { to: "app:7".into(), ..peer("nginx:3", 8.0, 8.0) }];
        assert_eq!(waits(&profile, &[])[0].cause, WaitCause::Sleep);
        profile.peers[0].busy = 1.0;
        assert!(waits(&profile, &[]).is_empty(), "one request at a time");
    }
}
