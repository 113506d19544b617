//! Locks and pools whose waiting threads share a futex (a wait queue of the kernel).

use run::{FutexKind, FutexProfile, HolderState, ThreadState, WaitCause, WaitFinding, WaitProfile};

use super::activity::{Activity, names_call, part_of};
use super::holder;
use super::library_locks::is_work_queue;
use super::loops::is_event_loop;
use super::members::MIN_MEMBERS;
use super::requests::Requests;
use crate::thresholds::{WAIT_ACTIVE, WAIT_HOLDS_NONE, WAIT_HOLDS_TOO_MANY, WAIT_MOSTLY, WAIT_UNHELD};

/// Locks of language runtimes: the global variable that contains each lock, and the lock's usual name. Threads that
/// wait for a runtime's lock have code to run, so they are not idle.
pub(super) const RUNTIME_LOCKS: &[(&str, &str)] = &[("_PyRuntime", "Python's interpreter lock (GIL)")];

/// Returns true if `name` is the name of a runtime's lock.
pub(super) fn is_of_runtime(name: &str) -> bool {
    RUNTIME_LOCKS.iter().any(|(_, known)| *known == name) || super::monitors::is_named(name)
}

/// Returns the locks and the pools of the programs themselves, rather than of their runtimes, for which requests wait.
pub(super) fn locks(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let crowded: Vec<&FutexProfile> =
        profile.futexes.iter().filter(|f| is_crowded(f) && !may_be_of_idle_threads(profile, f)).collect();
    let sum = |process: &str, field: fn(&FutexProfile) -> f64| -> f64 {
        crowded.iter().filter(|f| f.process == process).map(|f| field(f)).sum()
    };
    let is_lock = |futex: &&&FutexProfile| {
        let (active, waiting) = (sum(&futex.process, |f| f.active), sum(&futex.process, |f| f.waiting));
        holds_requests(profile, futex, requests.per_waiter(active, waiting))
    };
    crowded.iter().filter(is_lock).map(|futex| finding(profile, futex)).collect()
}

/// Returns true for a lock, a semaphore or a pool that threads wait for in at least half of the samples.
///
/// Idle workers wait for a condition variable, too. A condition variable counts as a pool only if several threads are
/// active, because a pool for a single thread would be a lock.
fn is_crowded(futex: &FutexProfile) -> bool {
    let kind = match futex.kind {
        FutexKind::OwnedMutex | FutexKind::Mutex | FutexKind::Semaphore => true,
        FutexKind::Condition => {
            let is_of_runtime = RUNTIME_LOCKS.iter().any(|(global, _)| *global == futex.name);
            !is_of_runtime && futex.active >= MIN_MEMBERS
        }
        FutexKind::Unknown => false,
    };
    kind && futex.users >= 2 && futex.contended >= WAIT_MOSTLY
}

/// Returns true for a futex for which idle threads wait, or may wait, until they get work.
///
/// Requests of an event loop wait in the loop, so their number may equal the number of idle threads by chance. The
/// memory of a semaphore or of a condition variable does not show a lock. For semaphores and condition variables, only
/// a name tells what the threads wait for.
fn may_be_of_idle_threads(profile: &WaitProfile, futex: &FutexProfile) -> bool {
    let is_loop = || profile.processes.iter().any(|process| process.process == futex.process && is_event_loop(process));
    let may_be_queue = matches!(futex.kind, FutexKind::Semaphore | FutexKind::Condition);
    let is_unnamed = futex.name.is_empty() && futex.function.is_empty();
    is_work_queue(&futex.function) || may_be_queue && is_unnamed && is_loop()
}

/// Returns true if the waiting threads work on requests. `per_waiter` contains the lower and the upper bound of the
/// requests per waiting thread.
fn holds_requests(profile: &WaitProfile, futex: &FutexProfile, per_waiter: Option<(f64, f64)>) -> bool {
    // In some servers, one idle thread owns a lock while it waits for work, and the other idle threads wait for this
    // lock.
    let works = |holder: &&HolderState| holder.state.is_active();
    let at_work: f64 = futex.holders.iter().filter(works).map(|holder| holder.share).sum();
    if futex.kind == FutexKind::OwnedMutex && at_work >= WAIT_MOSTLY {
        return per_waiter.is_none_or(|(_, high)| high > WAIT_HOLDS_NONE);
    }
    let held = futex.unheld <= WAIT_UNHELD && futex.active >= WAIT_ACTIVE;
    // The content of a mutex in memory shows that it is a lock. The content of a semaphore does not show a lock,
    // because the semaphore may belong to a queue of work. A semaphore counts as a lock only with nearly one request
    // per waiting thread, unless its threads read requests from clients themselves.
    let is_lock = futex.kind == FutexKind::Mutex || futex.kind == FutexKind::Semaphore && read_requests(profile, futex);
    let least = if is_lock { WAIT_MOSTLY } else { 1.0 - WAIT_HOLDS_NONE };
    held && per_waiter.is_some_and(|(low, high)| low >= least && high <= WAIT_HOLDS_TOO_MANY)
}

/// Returns true if at least half of the threads that waited for the futex also read requests from clients at other
/// times. Threads that read requests do not wait for work from other threads. If the waiting and the reading threads
/// add up to more than all threads, at least the excess did both.
fn read_requests(profile: &WaitProfile, futex: &FutexProfile) -> bool {
    let Some(process) = profile.processes.iter().find(|process| process.process == futex.process) else { return false };
    let readers = Activity::of(profile, process).all_threads(|state| state == ThreadState::ClientRead);
    let waited = futex.users as f64;
    waited + readers - process.threads >= WAIT_MOSTLY * waited
}

/// Returns the finding about a lock or a pool.
pub(super) fn finding(profile: &WaitProfile, futex: &FutexProfile) -> WaitFinding {
    let (of, share) = part_of(profile, &futex.process, futex.waiting);
    let holder = holder::activity(futex);
    let is_pool = futex.kind == FutexKind::Condition;
    let holder_thread = if is_pool { None } else { holder::thread(futex) };
    let function = holder.as_ref().filter(|_| !is_pool).and_then(|holder| holder::function(futex, holder.state));
    let key_if = |is_named: fn(ThreadState) -> bool| {
        holder.as_ref().filter(|holder| is_named(holder.state)).map(|holder| holder.key.clone()).unwrap_or_default()
    };
    WaitFinding {
        cause: if is_pool { WaitCause::WorkerPool } else { WaitCause::Lock },
        name: [&futex.name, &futex.function, &futex.address]
            .into_iter()
            .find(|n| !n.is_empty())
            .cloned()
            .unwrap_or_default(),
        process: futex.process.clone(),
        threads: futex.waiting,
        of,
        holder: holder.as_ref().map(|holder| holder.state),
        holder_probable: (holder.is_some() || holder_thread.is_some()) && futex.owned == 0.0,
        holder_thread,
        holder_function: function.map(|known| known.function.clone()).unwrap_or_default(),
        holder_function_share: function.map(|known| known.share),
        function: futex.function.clone(),
        holder_call: key_if(names_call),
        peer: key_if(|state| state == ThreadState::Peer),
        share,
        ..WaitFinding::default()
    }
}
