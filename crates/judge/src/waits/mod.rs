//! Causes of waiting inside the processes, from sampled threads ([`run::WaitProfile`]).
//!
//! Threads that wait for a lock work on requests. Idle threads of a pool also wait for one futex (that of their work
//! queue), but they work on no request. [`requests`] compares two numbers to distinguish threads with a request from
//! threads without one. One number counts the requests that were read but not answered, and the other counts the
//! threads that are active or wait.
//!
//! If the number of requests is unknown, a lock of the program counts only if it is a mutex that stores its owner. The
//! owner of this mutex must also be active.

mod activity;
mod advice;
mod agreement;
mod blocked_workers;
mod blocking;
mod collectors;
mod connection_limit;
mod databases;
mod event_loop;
mod explain;
mod file_locks;
mod first_advice;
mod full_pipes;
mod functions;
mod holder;
mod large_pools;
mod library_locks;
mod limit_signs;
mod locks;
mod loops;
mod members;
mod monitors;
mod only_worker;
mod passed_on;
mod peers;
mod pools;
mod refuted;
mod requests;
mod runtime_cpus;
mod runtime_locks;
mod sentence;
mod slots;
mod tasks;
mod titles;

use std::borrow::Cow;

use run::{
    DatabaseKind, DatabaseProfile, PeerConnections, Run, ThreadState, Trial, WaitCause, WaitFinding, WaitProfile,
};

#[cfg(any(test, feature = "planted"))]
pub(crate) use advice::advice;
pub(crate) use blocked_workers::BlockedWorkers;
pub(crate) use collectors::{GarbageCollection, is_collection, is_collector_thread};
pub(crate) use connection_limit::explain_connection_limit;
pub(crate) use event_loop::explain_idle_loop;
pub(crate) use explain::{EVIDENCE, WordOrder, evidence, explain};
pub(crate) use first_advice::Known;
pub(crate) use full_pipes::FullPipe;
pub(crate) use functions::of_run as waiting_functions;
pub(crate) use large_pools::{PoolNeed, is_of_large_pool, without_large_pools};
pub(crate) use limit_signs::keeps_connections;
pub(crate) use only_worker::is_only_worker;
pub(crate) use passed_on::PassedOn;
pub(crate) use pools::is_of_processes as is_pool_of_processes;
pub(crate) use refuted::without_refuted;
pub use sentence::headline;
#[cfg(any(test, feature = "planted"))]
pub(crate) use sentence::sentence;

use requests::Requests;
use stats::shares::chance_above_half;

use crate::context::view::{View, program};
use crate::in_flight::long_polls;
use crate::thresholds::{HOLDER_SURE, WAIT_MOSTLY, WAIT_POOL_BUSY};

/// Returns the causes for which requests wait, from one sampled trial of a run. The sampled trial is the first trial
/// that shows a cause, in the order of [`Run::trials_by_samples`]. In a short trial, the queue may grow so fast that
/// the counts of requests and waiting threads contradict each other. Leaves out trials with a light load (`is_light`
/// returns true): the rate still grew under heavier loads, so a wait under a light load does not limit the rate. Trials
/// with a heavier load are used even if they have fewer samples than a trial that is left out.
pub(crate) fn of_run(run: &Run, is_light: impl Fn(&Trial) -> bool) -> Vec<WaitFinding> {
    let none = WaitProfile::default();
    let of_trial = |at: usize| {
        let trial = run.trials.get(at)?;
        let threads = trial.server.as_ref().and_then(|side| {
            let profile = loops::without_shared_connections(side.waits.as_deref()?, run, trial);
            Some(without_polls(profile, &View::new("server", trial, side)))
        });
        let causes = waits(threads.as_deref().unwrap_or(&none), &trial.databases);
        Some(limit_signs::without_following_pools(causes, trial)).filter(|causes| !causes.is_empty())
    };
    run.trials_by_samples_among(|trial| !is_light(trial)).into_iter().find_map(of_trial).unwrap_or_default()
}

/// Returns a profile without the connections on which a reply takes longer than the slowest request. If a reply takes
/// longer than the slowest request, no request waits for it: the server long-polls that peer.
fn without_polls<'a>(profile: Cow<'a, WaitProfile>, view: &View<'_>) -> Cow<'a, WaitProfile> {
    let may_hold = |peer: &PeerConnections| {
        !peer.busy.is_finite() || long_polls::may_hold_requests(view, &peer.address, peer.busy, peer.open)
    };
    if profile.peers.iter().all(may_hold) {
        return profile;
    }
    let mut left = profile.into_owned();
    left.peers.retain(may_hold);
    Cow::Owned(left)
}

/// Returns the threads that are always blocked while further requests wait, from the trial with the most informative
/// samples.
pub(crate) fn blocked_workers(run: &Run) -> Vec<BlockedWorkers> {
    run.sampled_waits().map(blocked_workers::blocked_workers).unwrap_or_default()
}

/// Returns the requests that processes passed on to other servers while further requests waited inside these processes.
/// Uses the trial with the most readings of connections.
pub(crate) fn passed_on(run: &Run) -> Vec<PassedOn> {
    let sampled = run.trials_by_samples().into_iter().filter_map(|at| run.trials.get(at)?.server.as_ref());
    let profiles = sampled.filter_map(|server| server.waits.as_deref());
    let readings = |profile: &&WaitProfile| profile.clients.as_ref().map_or(0, |clients| clients.readings);
    profiles.max_by_key(readings).map(passed_on::passed_on).unwrap_or_default()
}

/// Returns the first cause of waiting that is a queue in the server.
pub(crate) fn queue_inside(findings: &[WaitFinding]) -> Option<&WaitFinding> {
    findings.iter().find(|finding| is_queue(finding))
}

/// Returns true if requests queue inside the server, or wait there for another program or for a disk.
pub(crate) fn hold_requests(findings: &[WaitFinding]) -> bool {
    queue_inside(findings).or_else(|| held_elsewhere(findings)).is_some()
}

/// Returns the first wait of threads with requests for another program or for a disk.
pub(crate) fn held_elsewhere(findings: &[WaitFinding]) -> Option<&WaitFinding> {
    findings.iter().find(|finding| matches!(finding.cause, WaitCause::Peer | WaitCause::Disk))
}

/// Returns true for a cause for which requests queue: a lock, a slot of a pool, the only worker, or the event loop.
fn is_queue(finding: &WaitFinding) -> bool {
    const QUEUES: [WaitCause; 5] = [
        WaitCause::Lock,
        WaitCause::WorkerPool,
        WaitCause::ConnectionPool,
        WaitCause::RowLock,
        WaitCause::BlockingCall,
    ];
    QUEUES.contains(&finding.cause) || only_worker::is_only_worker(finding)
}

/// Returns the first cause that keeps all workers of the server busy, so that the server accepts no connections. A lock
/// counts only if nearly all threads wait for it. If nearly all threads wait for a lock, the thread that accepts
/// connections waits, too, or finds no free thread.
pub(crate) fn busy_workers<'a>(findings: &'a [WaitFinding], server: &View<'_>) -> Option<&'a WaitFinding> {
    own_queue(findings, server).filter(|finding| match finding.cause {
        WaitCause::WorkerPool | WaitCause::BlockingCall => true,
        WaitCause::Lock => finding.share >= WAIT_POOL_BUSY,
        _ => only_worker::is_only_worker(finding),
    })
}

/// Returns the lock for which requests wait in a queue inside the server. Returns `None` if the samples show that the
/// lock's holder mostly does something other than computing. If the server computes all the time, requests that wait
/// for one lock use the CPU one at a time.
pub(crate) fn lock_of_turns<'a>(findings: &'a [WaitFinding], server: &View<'_>) -> Option<&'a WaitFinding> {
    let computes = |finding: &&WaitFinding| finding.holder.is_none_or(ThreadState::wants_cpu);
    own_queue(findings, server).filter(|finding| finding.cause == WaitCause::Lock).filter(computes)
}

/// Returns the first cause that is a queue, if this cause is inside a process of the server itself.
fn own_queue<'a>(findings: &'a [WaitFinding], server: &View<'_>) -> Option<&'a WaitFinding> {
    let is_own = |finding: &&WaitFinding| {
        server.side.processes.iter().any(|own| [own, program(own)].contains(&finding.process.as_str()))
    };
    queue_inside(findings).filter(is_own)
}

/// Returns true if the sampled trial has enough samples to tell what threads wait for. With too few samples, all
/// samples may agree by chance.
pub(crate) fn has_enough_samples(run: &Run) -> bool {
    let of_threads = run.sampled_waits().map_or(0, |profile| profile.rounds);
    let of_databases = run.sampled_databases().iter().map(|database| database.samples);
    let most = of_databases.chain([of_threads]).max().unwrap_or_default();
    let draws = u32::from(u8::try_from(most).unwrap_or(u8::MAX));
    chance_above_half(draws, draws) >= HOLDER_SURE
}

/// Returns the causes for which requests wait. The list begins with the causes inside databases. All other causes
/// follow, in the order of their number of waiting threads.
pub fn waits(profile: &WaitProfile, databases: &[DatabaseProfile]) -> Vec<WaitFinding> {
    let requests = Requests::of(profile);
    let mut found = runtime_locks::causes(profile);
    found.extend(locks::locks(profile, &requests));
    found.extend(tasks::causes(profile, &requests));
    found.extend(runtime_cpus::causes(profile, &requests));
    found.extend(monitors::causes(profile, &requests));
    found.extend(file_locks::causes(profile, &requests));
    explain_by_lock(&mut found, library_locks::causes(profile, &requests));
    let collections = collectors::causes(profile, &requests);
    // Threads that a garbage collector has stopped own monitors, so other threads wait for the monitors.
    found.retain(|lock| !monitors::is_named(&lock.name) || collections.iter().all(|work| work.process != lock.process));
    found.extend(collections);
    // If the threads of a process wait for a lock, other causes in the process are left out. Some garbage collectors
    // compute beside the requests, which then wait for connections that are all busy.
    let others = blocking::causes(profile, &requests);
    let explains = |first: &WaitFinding, other: &WaitFinding| {
        first.process == other.process
            && !(collectors::is_collection(first) && other.cause == WaitCause::ConnectionPool)
    };
    let unexplained = |other: &WaitFinding| !found.iter().any(|first| explains(first, other));
    let others: Vec<WaitFinding> = others.into_iter().filter(unexplained).collect();
    found.extend(others);
    found.extend(full_pipes::causes(profile, &requests, &found));
    let workers: Vec<WaitFinding> = found.iter().filter(|pool| pools::is_of_processes(pool)).cloned().collect();
    found.retain(|pool| !pools::leads_to_smaller(profile, pool, &workers));
    let locks: Vec<WaitFinding> = found.iter().filter(|lock| lock.cause == WaitCause::Lock).cloned().collect();
    found.retain(|pool| locks.iter().all(|lock| !leads_to_lock(pool, lock)));
    let mut inside = databases::sessions(databases, &found);
    // Sampled sessions say more about PostgreSQL than the titles of its processes, so the titles are not used.
    let knows_sessions =
        databases.iter().any(|database| database.samples > 0 && database.kind == DatabaseKind::Postgres);
    inside.extend(databases::titles(profile).filter(|_| !knows_sessions));
    inside.retain(|finding| databases::may_hold_requests(profile, &requests, finding));
    // The causes inside the database explain why threads wait for the database's replies.
    if !inside.is_empty() {
        found.retain(|other| !matches!(other.cause, WaitCause::Peer | WaitCause::ConnectionPool));
    }
    found.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    let queues: Vec<WaitFinding> = found.iter().filter(|finding| is_queue(finding)).cloned().collect();
    // The sort keeps the order of all other causes.
    found.sort_by_key(|finding| queues.iter().any(|queue| is_behind(finding, queue)));
    inside.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    // Causes inside the database come first, because they explain why threads of the server wait for the database.
    found.splice(0..0, inside);
    for finding in &mut found {
        finding.sentence = sentence::sentence(finding);
    }
    found
}

/// Adds locks for which threads sleep. A sleep in the same process is no cause of its own.
fn explain_by_lock(found: &mut Vec<WaitFinding>, locks: Vec<WaitFinding>) {
    let is_explained = |other: &WaitFinding| locks.iter().any(|lock| lock.process == other.process);
    found.retain(|other| other.cause != WaitCause::Sleep || !is_explained(other));
    found.extend(locks);
}

/// Returns true if threads sleep in one process while requests queue in another process that probably calls it. If as
/// many requests are in the queue's places as threads sleep, the sleep only shows how long each request takes. The
/// number of places (such as workers or pooled connections) is then the limit.
fn is_behind(sleep: &WaitFinding, queue: &WaitFinding) -> bool {
    let sleeps = sleep.cause == WaitCause::Sleep && !only_worker::is_only_worker(sleep);
    sleeps && sleep.process != queue.process && queue.threads >= WAIT_MOSTLY * sleep.threads
}

/// Returns true if the requests on most connections of a used-up pool wait for a lock in the process at the other end.
/// With more connections, only more of these requests would wait for the lock.
fn leads_to_lock(pool: &WaitFinding, lock: &WaitFinding) -> bool {
    pool.cause == WaitCause::ConnectionPool && pool.name == lock.process && lock.threads >= WAIT_MOSTLY * pool.of
}

#[cfg(test)]
mod connection_pool_tests;
#[cfg(test)]
mod database_tests;
#[cfg(test)]
mod peer_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod runtime_lock_tests;
#[cfg(test)]
mod task_tests;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod worker_tests;
