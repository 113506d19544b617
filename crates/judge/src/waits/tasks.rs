//! Causes among tasks of a language runtime: goroutines that wait for a mutex, for space in a channel, for a connection
//! or for a timer.

use run::{CountedKind, PeerConnections, TaskGroup, TaskState, ThreadState, WaitCause, WaitFinding, WaitProfile};

use super::pools;
use super::requests::Requests;
use crate::thresholds::WAIT_MOSTLY;

/// Function of Go's standard library in which tasks wait for a connection of a pool.
const POOL_FUNCTION: &str = "database/sql.(*DB).conn";

/// Returns the causes for which tasks wait, if at least half of the requests in progress may be in these tasks.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let findings = profile.tasks.iter().filter_map(|group| {
        let cause = cause(group)?;
        let have_requests = match cause {
            WaitCause::Lock => requests.may_wait_for_lock(group.tasks),
            _ => requests.are_held_by(group.tasks),
        };
        have_requests.then(|| finding(profile, group, cause))
    });
    findings.collect()
}

fn cause(group: &TaskGroup) -> Option<WaitCause> {
    match group.state {
        TaskState::Lock => Some(WaitCause::Lock),
        TaskState::Send if !group.function.is_empty() => Some(WaitCause::WorkerPool),
        TaskState::Sleep if !group.function.is_empty() => Some(WaitCause::Sleep),
        TaskState::Select | TaskState::Receive if group.function.starts_with(POOL_FUNCTION) => {
            Some(WaitCause::ConnectionPool)
        }
        _ => None,
    }
}

fn finding(profile: &WaitProfile, group: &TaskGroup, cause: WaitCause) -> WaitFinding {
    let tasks = profile.tasks.iter().filter(|other| other.process == group.process);
    let (of, running) = tasks.fold((0.0, 0.0), |(of, running), other| {
        let runs = matches!(other.state, TaskState::Running | TaskState::Runnable);
        (of + other.tasks, running + if runs { other.tasks } else { 0.0 })
    });
    let peer = used_up_peer(profile, &group.process).filter(|_| cause == WaitCause::ConnectionPool);
    let has_holder = cause != WaitCause::Sleep;
    // The stack of a running goroutine cannot be read. A running goroutine may be inside the function for which other
    // goroutines wait, so it counts as the holder.
    let (holder, holder_call) = match group.inside_state {
        Some(state) if has_holder && group.inside >= WAIT_MOSTLY => (Some(thread_state(state)), String::new()),
        _ if has_holder && running >= WAIT_MOSTLY => of_threads(profile, &group.process),
        _ => (None, String::new()),
    };
    WaitFinding {
        cause,
        name: group.function.clone(),
        process: group.process.clone(),
        counted: CountedKind::Goroutines,
        threads: group.tasks,
        of,
        holder,
        holder_call,
        holder_probable: holder.is_some(),
        function: group.function.clone(),
        peer: peer.map(|peer| peer.address.clone()).unwrap_or_default(),
        share: (group.tasks / of.max(group.tasks)).min(1.0),
        ..WaitFinding::default()
    }
}

/// Returns the only peer to which all connections of a process are busy. Returns `None` if several peers match, because
/// the tasks may wait for a connection to any of these peers. Also returns `None` if the number of busy connections of
/// the matching peer is unknown. An embedded database, such as SQLite, has no peer.
fn used_up_peer<'a>(profile: &'a WaitProfile, process: &str) -> Option<&'a PeerConnections> {
    let own = profile.peers.iter().filter(|peer| peer.process == process);
    let mut fitting = own.filter(|peer| pools::may_be_used_up(peer));
    let first = fitting.next().filter(|peer| peer.busy.is_finite())?;
    fitting.next().is_none().then_some(first)
}

/// Returns what the threads of running goroutines mostly do, and the object for which they wait. A goroutine counts as
/// running while its thread is in a system call, where it may wait for a file or a pipe.
fn of_threads(profile: &WaitProfile, process: &str) -> (Option<ThreadState>, String) {
    let groups = || profile.groups.iter().filter(|group| group.process == process);
    let on_cpu: f64 = groups().filter(|group| group.state.wants_cpu()).map(|group| group.threads).sum();
    let is_in_call = |state| matches!(state, ThreadState::Disk | ThreadState::FullPipe | ThreadState::FileLock);
    let blocked = groups().filter(|group| is_in_call(group.state)).max_by(|a, b| a.threads.total_cmp(&b.threads));
    match blocked.filter(|group| group.threads > on_cpu) {
        Some(group) => (Some(group.state), group.key.clone()),
        None => (Some(ThreadState::OnCpu), String::new()),
    }
}

/// Returns the thread state that corresponds to a task state.
const fn thread_state(state: TaskState) -> ThreadState {
    match state {
        TaskState::Running => ThreadState::OnCpu,
        TaskState::Runnable => ThreadState::Runnable,
        TaskState::Sleep => ThreadState::Sleep,
        TaskState::Network => ThreadState::Peer,
        TaskState::Lock | TaskState::Send | TaskState::Receive | TaskState::Select | TaskState::Other => {
            ThreadState::Futex
        }
    }
}
