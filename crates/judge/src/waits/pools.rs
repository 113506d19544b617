//! Finds pools whose members are all in use. A pool consists of worker processes, of worker threads, or of the
//! connections of an event loop to another server.

use std::collections::BTreeMap;

use run::{CountedKind, PeerConnections, ThreadState, WaitCause, WaitFinding, WaitGroup, WaitProcess, WaitProfile};

use super::activity::Activity;
use super::collectors::is_of_runtime;
use super::functions;
use super::library_locks::lock_of;
use super::loops::is_event_loop;
use super::members::MIN_MEMBERS;
use super::peers::{gets_answers, with_busy};
use super::requests::Requests;
use crate::context::view::program;
use crate::thresholds::{WAIT_FEW, WAIT_MOSTLY, WAIT_POOL_BUSY, WAIT_QUEUE};

/// Returns the pool of worker processes with one thread each, if all of them are blocked in `state` while requests
/// queue. The processes may include the parent of the workers, which is idle or sleeps between two checks. If the
/// parent has an entry of its own in the profile, the processes are only the workers.
pub(super) fn busy_children(
    profile: &WaitProfile,
    activity: &Activity<'_>,
    state: ThreadState,
    requests: &Requests,
) -> Option<WaitFinding> {
    let process = activity.process;
    let is_single_threaded = process.threads < process.processes + WAIT_FEW;
    let all = process.processes.max(1.0);
    let [blocked, idle] = [activity.all_threads(|s| s == state), activity.all_threads(ThreadState::is_idle)];
    let is_used_up = blocked >= MIN_MEMBERS && blocked >= WAIT_MOSTLY * process.threads && idle < 1.0 + WAIT_FEW;
    let demand = demand_of(profile, process, requests).map_or(0.0, |sent| requests.demand().max(sent));
    let queues = demand >= blocked + WAIT_QUEUE;
    let sleeps = if state == ThreadState::Sleep { 0.0 } else { activity.all_threads(|s| s == ThreadState::Sleep) };
    let is_one = |threads: f64| (threads - 1.0).abs() <= WAIT_FEW;
    let (of, counted, parent) = match () {
        () if process.children => (all, CountedKind::Children, 0.0),
        () if activity.has_parent => (all - 1.0, CountedKind::Children, 1.0),
        () if is_one(sleeps) => (all - 1.0, CountedKind::Children, sleeps),
        () if is_one(idle) => (all - 1.0, CountedKind::Children, 0.0),
        () => (all, CountedKind::Processes, 0.0),
    };
    let busy = process.threads - idle - parent;
    (is_single_threaded && is_used_up && queues).then(|| WaitFinding {
        cause: WaitCause::WorkerPool,
        name: pool_name(profile, process, of),
        process: process.process.clone(),
        counted,
        threads: busy,
        of,
        holder: Some(state),
        share: (busy / of).clamp(0.0, 1.0),
        ..WaitFinding::default()
    })
}

/// Returns true for a pool of worker processes.
pub(crate) fn is_of_processes(pool: &WaitFinding) -> bool {
    pool.cause == WaitCause::WorkerPool && matches!(pool.counted, CountedKind::Children | CountedKind::Processes)
}

/// Returns true if the counted threads or goroutines wait for a slot of the pool (such as a semaphore), and are not its
/// members.
pub(super) fn waits_for_slot(pool: &WaitFinding) -> bool {
    let names_pool = !pool.function.is_empty() || (pool.holder.is_some() && !pool.name.is_empty());
    pool.cause == WaitCause::WorkerPool && !is_of_processes(pool) && names_pool
}

/// Returns true for a pool of connections that leads to a smaller pool of worker processes. `workers` are the pools of
/// worker processes that are used up. The workers are the limit, because with more connections, more requests would
/// wait for these workers.
pub(super) fn leads_to_smaller(profile: &WaitProfile, pool: &WaitFinding, workers: &[WaitFinding]) -> bool {
    let own = profile.peers.iter().filter(|peer| peer.process == pool.process && peer.address == pool.peer);
    let servers: Vec<&str> = own.map(|peer| peer.to.as_str()).collect();
    let is_smaller = |of: f64| of <= pool.of - WAIT_QUEUE;
    let limits = |workers: &WaitFinding| servers.contains(&workers.process.as_str()) && is_smaller(workers.of);
    pool.cause == WaitCause::ConnectionPool && workers.iter().any(limits)
}

/// Returns the pool's name from the title of most worker processes, such as `pool www` of `php-fpm: pool www`. Returns
/// an empty text if most workers have no common title, or if the common title names no pool.
fn pool_name(profile: &WaitProfile, process: &WaitProcess, workers: f64) -> String {
    let titles = profile.titles.iter().filter(|title| title.process == process.process);
    let most = titles.max_by(|a, b| a.processes.total_cmp(&b.processes));
    let name = most.filter(|title| title.processes >= WAIT_MOSTLY * workers).and_then(|t| t.title.split_once(": "));
    name.map(|(_, name)| name.trim().into()).unwrap_or_default()
}

/// Finds a pool whose members are all in use, although the system calls of the threads do not show a wait. Threads of a
/// language runtime look idle while they wait for a futex. A thread of an event loop looks idle while it waits for
/// events.
pub(super) fn used_up(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    connections(profile, activity, requests).or_else(|| {
        let pool = worker_threads(activity, requests)?;
        Some(match lock_of(&functions::mostly_in(profile, activity.process)) {
            Some(lock) => WaitFinding { cause: WaitCause::Lock, name: lock.into(), ..pool },
            None => pool,
        })
    })
}

/// Finds worker threads with one name, if their number is about the number of requests in progress, and further
/// requests wait unread.
fn worker_threads(activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let (low, high) = requests.in_progress()?;
    let is_pool =
        |members: f64| members >= MIN_MEMBERS && high >= (1.0 - WAIT_FEW) * members && low <= members + WAIT_QUEUE;
    if requests.queued < WAIT_QUEUE || process.behind || process.processes > 1.0 + WAIT_FEW {
        return None;
    }
    let mut names: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
    let may_work = |group: &WaitGroup| group.thread != program(&process.process) && !is_of_runtime(&group.thread);
    for group in activity.groups.iter().filter(|group| may_work(group)) {
        let sums = names.entry(group.thread.as_str()).or_default();
        let on_cpu = group.state.wants_cpu();
        let parts = [
            group.threads,
            f64::from(u8::from(on_cpu)) * group.threads,
            f64::from(u8::from(group.state.is_idle())) * group.threads,
        ];
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    // Linux shortens the names of threads, so a few other threads (that accept or poll) may have the pool's name.
    let busy = |[members, _, idle]: [f64; 3]| members - idle;
    let fits = |(_, sums @ [members, on_cpu, idle]): &(&str, [f64; 3])| {
        is_pool(busy(*sums)) && *on_cpu < WAIT_MOSTLY * members && *idle < WAIT_FEW * members
    };
    let distance = |sums: [f64; 3]| (busy(sums) - high).abs();
    let pools = names.into_iter().filter(fits);
    let (name, sums) = pools.min_by(|(_, a), (_, b)| distance(*a).total_cmp(&distance(*b)))?;
    let members = busy(sums);
    Some(WaitFinding {
        cause: WaitCause::WorkerPool,
        name: name.into(),
        process: process.process.clone(),
        threads: members,
        of: process.threads,
        share: (members / process.threads.max(members)).min(1.0),
        ..WaitFinding::default()
    })
}

/// Returns the connections of an event loop to one peer, if all of them are busy while more requests wait for a
/// connection.
///
/// Returns `None` if the rounds of samples are fewer than the connections: so few rounds do not show that the number of
/// connections is constant.
fn connections(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    let demand = demand_of(profile, process, requests)?;
    let own = profile.peers.iter().filter(|peer| peer.process == process.process).filter_map(|p| with_busy(profile, p));
    let is_pool = |peer: &PeerConnections| profile.rounds as f64 > peer.open && is_used_up_pool(peer, demand);
    let largest = own.filter(is_pool).max_by(|a, b| a.busy.total_cmp(&b.busy));
    let peer = largest.filter(|_| is_event_loop(process))?;
    Some(used_up_connections(process, &peer, demand))
}

/// Returns the connections of a computing process to one peer, if all of them are busy. The process must also have read
/// more requests than it has connections. In contrast, a full event loop would leave replies and further requests
/// unread.
pub(super) fn connections_of_read(
    profile: &WaitProfile,
    activity: &Activity<'_>,
    requests: &Requests,
) -> Option<WaitFinding> {
    let (read, _) = requests.in_progress().filter(|_| !activity.process.behind)?;
    connections(profile, activity, requests).filter(|pool| read >= pool.of + WAIT_QUEUE)
}

fn used_up_connections(process: &WaitProcess, peer: &PeerConnections, demand: f64) -> WaitFinding {
    WaitFinding {
        cause: WaitCause::ConnectionPool,
        name: peer.to.clone(),
        process: process.process.clone(),
        peer: peer.address.clone(),
        counted: CountedKind::Connections,
        threads: peer.busy,
        of: peer.open,
        queued: Some(demand - peer.open),
        share: (peer.busy / peer.open).clamp(0.0, 1.0),
        ..WaitFinding::default()
    }
}

/// Returns the connections to `peer`, if threads wait for replies on all of them, and the process has read more
/// requests than there are connections. The other requests wait for a connection. `threads` is the number of threads
/// that wait for replies.
///
/// A process that has read no further requests lacks threads, not connections.
pub(super) fn connections_of_threads(
    profile: &WaitProfile,
    process: &WaitProcess,
    (peer, threads): (&str, f64),
    requests: &Requests,
) -> Option<WaitFinding> {
    let (read, _) = requests.in_progress()?;
    let all = profile.peers.iter().find(|known| known.process == process.process && known.address == peer)?;
    let is_pool = is_used_up_pool(all, read) && threads >= WAIT_POOL_BUSY * all.open;
    is_pool.then(|| used_up_connections(process, all, requests.demand()))
}

/// Returns true if all connections to the peer are busy, their number is constant, and more requests are present.
fn is_used_up_pool(peer: &PeerConnections, demand: f64) -> bool {
    let is_busy = peer.busy.is_finite() && peer.open >= MIN_MEMBERS;
    is_busy && may_be_used_up(peer) && demand >= peer.open + WAIT_QUEUE
}

/// Returns true if the number of connections to the peer is constant, and all of them are busy, or may be busy. A
/// server that opens a connection for each request has no pool, so the number of its connections changes.
pub(super) fn may_be_used_up(peer: &PeerConnections) -> bool {
    let is_constant = peer.open > 0.0 && peer.max_open <= peer.open + WAIT_FEW;
    let has_free = peer.busy < WAIT_POOL_BUSY * peer.open;
    is_constant && !has_free && gets_answers(peer)
}

/// Returns a lower bound of the requests at a process.
///
/// For a process of an upstream service, the lower bound of its requests is the number of busy connections from sampled
/// processes. Connections to the parent of worker processes also count, because the workers share the parent's
/// listener. Returns `None` if no sampled process has connections to the process, and NaN for Unix sockets.
pub(super) fn demand_of(profile: &WaitProfile, process: &WaitProcess, requests: &Requests) -> Option<f64> {
    if !process.behind {
        return Some(requests.demand());
    }
    let is_to = |to: &str| to == process.process || process.children && program(to) == process.process;
    let senders = profile.peers.iter().filter(|peer| is_to(&peer.to));
    senders.map(|peer| peer.busy).reduce(|a, b| a + b)
}
