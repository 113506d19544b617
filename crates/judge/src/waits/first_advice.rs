//! Advice on the cause of waiting that explains a verdict. The advice on the cause comes before the advice of the
//! verdict's rule, and replaces advice that would not help.

use run::WaitCause::{ConnectionPool, Lock, RowLock, WorkerPool};
use run::{Bottleneck, Counted, HotFunction, WaitFinding};

use super::advice::{advice, is_unseen, more_workers};
use super::collectors::GarbageCollection;
use super::pools::{is_of_processes, waits_for_slot};
use crate::context::view::program;
use crate::in_flight::places;
use crate::number::figure;
use crate::thresholds::{MANY_PLACES, WAIT_QUEUE};

/// Facts about the server, other than causes of waiting, that an explanation uses.
#[derive(Default)]
pub(crate) struct Known<'a> {
    /// Function that explains the CPU time.
    pub(crate) hot: Option<&'a HotFunction>,
    /// Number of requests that the server handles at a time.
    pub(crate) places: Option<f64>,
    /// Advice on the full CPUs of the server's machine; `None` if CPUs have idle time.
    pub(crate) full_cpus: Option<String>,
    /// Advice on the pool of processes that still grew under the last load; `None` if no pool grew.
    pub(crate) growing: Option<String>,
    /// Garbage collection that takes a large share of the CPU time.
    pub(crate) collection: Option<GarbageCollection>,
    /// Number of client connections that the server serves while others wait to be accepted; `None` if no connection
    /// waits.
    pub(crate) held: Option<f64>,
}

/// Puts the advice on the cause `finding` before the other advice of a verdict, and removes the advice that would not
/// help.
pub(super) fn advise(verdict: &mut Bottleneck, finding: &WaitFinding, known: &Known<'_>) {
    let moot = verdict.counted.iter().filter(|counted| follows(counted, finding)).map(places::advice);
    let moot: Vec<String> = moot.collect();
    verdict.advice.retain(|advice| !moot.contains(advice));
    let needs_members = matches!(finding.cause, WorkerPool | ConnectionPool);
    // While the pool grows, `places` describes the smaller pool of earlier loads, so it does not show that the pool is
    // too large.
    let growing = known.growing.as_ref().filter(|_| is_of_processes(finding));
    let is_too_large = growing.is_none() && known.places.is_some_and(|places| has_too_many(finding, places));
    if is_too_large || growing.is_some() {
        // The advice of the verdict's rule, which asks for more workers, would not help.
        verdict.advice.clear();
    }
    let first = match &known.full_cpus {
        // While the CPUs are full, more workers or connections do not help.
        Some(full_cpus) if needs_members => full_cpus.clone(),
        _ if growing.is_some() => growing.cloned().unwrap_or_default(),
        _ if is_too_large => look_for_a_lock(finding),
        _ if is_of_held_connections(finding, known) => hold_more(finding),
        _ if known.places.is_some() && is_unseen(finding) => more_workers(finding),
        _ => advice(finding),
    };
    verdict.advice.retain(|advice| *advice != first);
    verdict.advice.insert(0, first);
}

/// Returns true if a count is only a result of the cause `finding`, so that a larger count would not help. However many
/// threads there are, a lock lets only one of them work at a time. A pool of connections determines the counts of
/// connections and of the peer's processes, such as a database's backends.
fn follows(counted: &Counted, finding: &WaitFinding) -> bool {
    match finding.cause {
        Lock | RowLock => true,
        ConnectionPool => {
            places::is_connections(counted) || !finding.name.is_empty() && counted.of == program(&finding.name)
        }
        _ => false,
    }
}

/// Returns true for a pool of workers with many more members than `places`, the number of requests that the server
/// handles at a time. Each member has a request, but most members wait for something inside the server.
fn has_too_many(pool: &WaitFinding, places: f64) -> bool {
    let members = if is_of_processes(pool) { pool.of } else { pool.threads };
    pool.cause == WorkerPool && !waits_for_slot(pool) && members >= MANY_PLACES * places
}

/// Returns the advice on a pool with too many members.
fn look_for_a_lock(pool: &WaitFinding) -> String {
    format!(
        "Look for a lock that the workers of {} share, or for a row or an upstream for which they wait. More workers will not \
         help, because most of them wait.",
        pool.process
    )
}

/// Returns true if the server uses one upstream connection for each client connection, and its limit is on the clients'
/// connections. If each client connection uses one upstream connection, the pool of upstream connections seems used up,
/// although its size is not the limit.
fn is_of_held_connections(pool: &WaitFinding, known: &Known<'_>) -> bool {
    let is_equal = |held: f64| (held - pool.of).abs() <= WAIT_QUEUE;
    pool.cause == ConnectionPool && known.held.is_some_and(is_equal)
}

/// Returns the advice for a server that serves too few client connections at a time.
fn hold_more(pool: &WaitFinding) -> String {
    format!(
        "Let {} hold more connections of clients at a time (now {}; in HAProxy: `maxconn` of the frontend): further clients \
         wait to be accepted. Its connections to the upstream are only as many as those of its clients.",
        pool.process,
        figure(pool.of)
    )
}
