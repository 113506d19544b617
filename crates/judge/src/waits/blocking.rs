//! Causes other than locks for which requests wait: blocked event loops, sleeping workers, disks, peers, and a single
//! computing thread.

use run::{ThreadState, WaitCause, WaitFinding, WaitProfile};

use super::activity::{Activity, cause_of};
use super::functions;
use super::only_worker;
use super::pools;
use super::requests::Requests;
use super::slots;
use crate::thresholds::{FULL_MIDDLE, WAIT_FEW, WAIT_MOSTLY, WAIT_POOL_BUSY, WAIT_QUEUE};

/// Returns the causes other than locks, at most one cause for each process name.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let of = |process| cause(profile, &Activity::of(profile, process), requests);
    profile.processes.iter().filter_map(of).collect()
}

fn cause(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let finding = |cause, threads: f64, name: String| WaitFinding {
        cause,
        name,
        process: process.process.clone(),
        threads,
        of: process.threads,
        share: if process.threads > 0.0 { (threads / process.threads).min(1.0) } else { 0.0 },
        ..WaitFinding::default()
    };
    let demand = requests.demand();
    if computes_serially(activity) && demand >= process.processes + WAIT_QUEUE {
        return Some(finding(WaitCause::SerialCpu, process.processes, thread_on_cpu(activity)));
    }
    waits_in_calls(profile, activity, requests, &finding)
        .or_else(|| loop_without_rest(profile, activity, requests))
        .or_else(|| pools::used_up(profile, activity, requests))
        .or_else(|| slots::limited_section(profile, activity, requests))
}

/// Returns true if only one thread of all processes computes, or only one thread of each process. One of the processes
/// may be an idle parent of the other processes.
fn computes_serially(activity: &Activity<'_>) -> bool {
    let (process, cpu) = (activity.process, activity.on_cpu());
    let (all, most) = (activity.all_threads(ThreadState::wants_cpu), process.busiest + WAIT_FEW);
    let each = process.processes >= 2.0 - WAIT_FEW && all >= FULL_MIDDLE * (process.processes - 1.0) && cpu < most;
    process.busiest >= FULL_MIDDLE && (all < most || each)
}

/// Returns the cause that the system calls of blocked threads show.
fn waits_in_calls(
    profile: &WaitProfile,
    activity: &Activity<'_>,
    requests: &Requests,
    finding: &impl Fn(WaitCause, f64, String) -> WaitFinding,
) -> Option<WaitFinding> {
    if let Some(worker) = only_worker::blocked(profile, activity, requests) {
        return Some(worker);
    }
    let (process, demand, cpu) = (activity.process, requests.demand(), activity.on_cpu());
    let (state, threads, key) = activity.blocked()?;
    let per_process = threads / activity.workers;
    let idle = activity.threads(ThreadState::is_idle);
    if per_process < WAIT_MOSTLY || per_process < cpu {
        return None;
    }
    if let Some(workers) = pools::busy_children(profile, activity, state, requests) {
        return Some(workers);
    }
    if process.epoll && idle < WAIT_FEW && demand >= threads + WAIT_QUEUE && per_process <= 1.0 + WAIT_FEW {
        let function = functions::mostly_in(profile, process);
        let blocked = WaitFinding { function, ..finding(WaitCause::BlockingCall, threads, key.clone()) };
        return Some(only_worker::with_holder(blocked, state, &key));
    }
    if !holds(demand, requests, threads) {
        return None;
    }
    let cause = cause_of(state)?;
    let peer = if state == ThreadState::Peer { key.clone() } else { String::new() };
    let pool = profile.peers.iter().find(|p| p.address == peer && p.busy >= WAIT_POOL_BUSY * p.open);
    match cause {
        WaitCause::Peer if pool.is_some_and(|pool| demand >= pool.open + WAIT_QUEUE) => {
            Some(WaitFinding { peer, ..finding(WaitCause::ConnectionPool, threads, String::new()) })
        }
        WaitCause::Peer if state == ThreadState::Pipe => Some(finding(cause, threads, format!("the {key}"))),
        WaitCause::Peer => Some(WaitFinding { peer, ..finding(cause, threads, String::new()) }),
        WaitCause::Sleep if requests.queued >= WAIT_QUEUE && idle < WAIT_FEW => {
            Some(WaitFinding { holder: Some(state), ..finding(WaitCause::WorkerPool, threads, String::new()) })
        }
        _ => Some(finding(cause, threads, key)),
    }
}

/// Returns the wait of an event loop that is blocked for a part of the time, and computes nearly all the rest, while
/// requests queue. Neither the CPU nor the disk of such a process is full, but its event loop has no time left.
fn loop_without_rest(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let (state, _, key) = activity.blocked()?;
    let is_only = process.epoll && activity.workers < 1.0 + WAIT_FEW;
    let does_both = process.busiest.min(process.busiest_blocked) >= WAIT_FEW;
    let is_used_up = does_both && process.busiest + process.busiest_blocked >= FULL_MIDDLE;
    let blocked = WaitFinding {
        cause: WaitCause::BlockingCall,
        name: key.clone(),
        process: process.process.clone(),
        threads: process.busiest_blocked,
        of: 1.0,
        function: functions::mostly_in(profile, process),
        share: process.busiest_blocked,
        ..WaitFinding::default()
    };
    let queues = requests.demand() >= 1.0 + WAIT_QUEUE && !process.behind;
    (is_only && is_used_up && queues).then(|| only_worker::with_holder(blocked, state, &key))
}

/// Returns true if the number of blocked threads is about the number of requests in progress. Housekeeping threads also
/// sleep, but they work on no request, so they must not be mistaken for workers.
fn holds(demand: f64, requests: &Requests, threads: f64) -> bool {
    let in_progress = demand - requests.queued;
    threads >= 2.0 - WAIT_MOSTLY && threads >= WAIT_MOSTLY * in_progress && in_progress >= WAIT_MOSTLY * threads
}

/// Returns the name of the threads that compute most.
fn thread_on_cpu(activity: &Activity<'_>) -> String {
    let running = activity.groups.iter().filter(|g| g.state == ThreadState::OnCpu);
    running.max_by(|a, b| a.threads.total_cmp(&b.threads)).map(|g| g.thread.clone()).unwrap_or_default()
}
