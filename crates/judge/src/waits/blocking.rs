//! Causes other than locks for which requests wait: blocked event loops, sleeping workers, disks, peers, and a single
//! computing thread.

use run::{ThreadState, WaitCause, WaitFinding, WaitProfile};

use super::activity::{Activity, cause_of, is_blocked};
use super::functions;
use super::library_locks::lock_of;
use super::loops::{is_event_loop, works_in_loop};
use super::only_worker;
use super::pools;
use super::requests::Requests;
use super::slots;
use crate::thresholds::{FULL_MIDDLE, WAIT_FEW, WAIT_MOSTLY, WAIT_QUEUE};

/// Returns the causes of waiting other than locks, at most one for each process name.
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
    if computes_serially(activity) && is_asked(profile, activity, requests) {
        let computing = activity.all_threads(ThreadState::wants_cpu);
        let serial = || finding(WaitCause::SerialCpu, computing, thread_on_cpu(activity));
        return Some(pools::connections_of_read(profile, activity, requests).unwrap_or_else(serial));
    }
    let full_loop = || loop_without_rest(profile, activity, requests);
    // If no thread waits for events, one of the busy threads is the event loop.
    let never_rests = activity.all_threads(ThreadState::is_idle) < WAIT_FEW;
    let calls = || waits_in_calls(profile, activity, requests, &finding);
    let of_threads = if never_rests { full_loop().or_else(calls) } else { calls().or_else(full_loop) };
    of_threads
        .or_else(|| pools::used_up(profile, activity, requests))
        .or_else(|| slots::limited_section(profile, activity, requests))
}

/// Returns true if more requests than processes are present. Returns false for an upstream that owes the sampled
/// processes hardly any reply, and so computes for other programs. If it is unknown how many replies an upstream owes,
/// as behind a Unix socket, the replies are ignored.
fn is_asked(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> bool {
    let process = activity.process;
    let sent = pools::demand_of(profile, process, requests).filter(|sent| sent.is_finite());
    let owes = !process.behind || sent.is_none_or(|sent| sent >= WAIT_MOSTLY);
    owes && requests.demand() >= process.processes + WAIT_QUEUE
}

/// Returns true if only one thread computes, either in all processes together or in each process. One of the processes
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
    // If there are fewer requests than workers, the other workers are idle.
    let hold_most = state == ThreadState::Peer && threads >= WAIT_MOSTLY * demand;
    if per_process < WAIT_MOSTLY && !hold_most || per_process < cpu {
        return None;
    }
    let peer = if state == ThreadState::Peer { key.clone() } else { String::new() };
    if let Some(workers) = pools::busy_children(profile, activity, state, requests) {
        return Some(WaitFinding { peer, ..workers });
    }
    // A thread that waits for a full pipe is never idle. If requests stay unread at that time, no other thread reads
    // them.
    let is_only_loop = idle < WAIT_FEW || state == ThreadState::FullPipe && requests.queued >= WAIT_QUEUE;
    let is_loop = is_event_loop(process) && works_in_loop(profile, process);
    if is_loop && is_only_loop && demand >= threads + WAIT_QUEUE && per_process <= 1.0 + WAIT_FEW {
        // If a runtime also has idle threads, most sampled stacks belong to them and not to the event loop.
        let function = if idle < WAIT_FEW { functions::mostly_in(profile, process) } else { String::new() };
        let blocked = WaitFinding { function, ..finding(WaitCause::BlockingCall, threads, key.clone()) };
        return Some(only_worker::with_holder(blocked, state, &key));
    }
    if let Some(pool) = pools::connections_of_threads(profile, process, (&peer, threads), requests) {
        return Some(pool);
    }
    if !holds(demand, requests, threads) {
        return None;
    }
    let cause = cause_of(state)?;
    let queues = requests.queued >= WAIT_QUEUE;
    match cause {
        WaitCause::Peer if state == ThreadState::Peer && queues && has_no_room(requests, threads) => {
            let workers = finding(WaitCause::WorkerPool, threads, String::new());
            Some(WaitFinding { holder: Some(state), peer, ..workers })
        }
        WaitCause::Peer if state == ThreadState::Pipe => Some(finding(cause, threads, pipe("", &key))),
        WaitCause::Peer if state == ThreadState::FullPipe => Some(finding(cause, threads, pipe("full ", &key))),
        WaitCause::Peer => Some(WaitFinding { peer, ..finding(cause, threads, String::new()) }),
        WaitCause::Sleep if queues && idle < WAIT_FEW => {
            Some(WaitFinding { holder: Some(state), ..finding(WaitCause::WorkerPool, threads, String::new()) })
        }
        WaitCause::Sleep => {
            let function = functions::mostly_in(profile, process);
            Some(match lock_of(&function) {
                Some(lock) => finding(WaitCause::Lock, threads, lock.into()),
                None => WaitFinding { function, ..finding(cause, threads, key) },
            })
        }
        _ => Some(finding(cause, threads, key)),
    }
}

/// Returns the text about the pipe for which threads wait; for several pipes, `key` is empty.
pub(super) fn pipe(full: &str, key: &str) -> String {
    if key.is_empty() { format!("several {full}pipes") } else { format!("the {full}{key}") }
}

/// Returns true if the server has read only as many requests as `threads` threads can work on.
fn has_no_room(requests: &Requests, threads: f64) -> bool {
    requests.in_progress().is_some_and(|(_, high)| high <= threads + WAIT_QUEUE)
}

/// Returns the wait of an event loop that is blocked for a part of the time and computes nearly all the rest, while
/// requests queue. Neither the CPU nor the disk of the process is full, but its event loop has no time left. Other
/// threads of the process may wait, too, for example to poll another server.
fn loop_without_rest(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let (state, key) = activity.wait_of(process.busiest_blocked)?;
    let is_loop = is_event_loop(process) && works_in_loop(profile, process);
    let is_only = is_loop && activity.workers < 1.0 + WAIT_FEW;
    let does_both = process.busiest.min(process.busiest_blocked) >= WAIT_FEW;
    let is_used_up = does_both && process.busiest + process.busiest_blocked >= FULL_MIDDLE;
    // If other threads are blocked, too, most sampled stacks may belong to these threads.
    let is_alone = activity.all_threads(is_blocked) <= process.busiest_blocked + WAIT_FEW;
    let function = if is_alone { functions::mostly_in(profile, process) } else { String::new() };
    let blocked = WaitFinding {
        cause: WaitCause::BlockingCall,
        name: key.clone(),
        process: process.process.clone(),
        threads: process.busiest_blocked,
        of: 1.0,
        function,
        share: process.busiest_blocked,
        ..WaitFinding::default()
    };
    let queues = requests.demand() >= 1.0 + WAIT_QUEUE && !process.behind;
    (is_only && is_used_up && queues).then(|| only_worker::with_holder(blocked, state, &key))
}

/// Returns true if the number of blocked threads is about the number of requests in progress. Background threads also
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
