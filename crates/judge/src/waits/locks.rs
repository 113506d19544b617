//! Locks among the futexes of a profile.

use run::{FutexKind, FutexProfile, HolderState, WaitCause, WaitFinding, WaitProfile};

use super::requests::Requests;
use crate::thresholds::{WAIT_ACTIVE, WAIT_HOLDS_NONE, WAIT_HOLDS_ONE, WAIT_HOLDS_TOO_MANY, WAIT_MOSTLY, WAIT_UNHELD};

/// Returns the locks that requests wait for.
pub(super) fn locks(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let crowded: Vec<&FutexProfile> = profile.futexes.iter().filter(|f| is_crowded(f)).collect();
    let sum = |process: &str, field: fn(&FutexProfile) -> f64| -> f64 {
        crowded.iter().filter(|f| f.process == process).map(|f| field(f)).sum()
    };
    let is_lock = |futex: &&&FutexProfile| {
        let (active, waiting) = (sum(&futex.process, |f| f.active), sum(&futex.process, |f| f.waiting));
        holds_requests(futex, requests.per_waiter(active, waiting))
    };
    crowded.iter().filter(is_lock).map(|futex| finding(profile, futex)).collect()
}

/// Returns true for a lock or a semaphore that threads nearly always wait for. Idle workers wait for a condition variable.
fn is_crowded(futex: &FutexProfile) -> bool {
    let kind = matches!(futex.kind, FutexKind::OwnedMutex | FutexKind::Mutex | FutexKind::Semaphore);
    kind && futex.users >= 2 && futex.contended >= WAIT_MOSTLY
}

/// Decides if the waiting threads hold requests. `per_waiter` are bounds of the requests per waiting thread.
fn holds_requests(futex: &FutexProfile, per_waiter: Option<(f64, f64)>) -> bool {
    // A thread that waits for work may hold a lock meanwhile, while the next idle threads wait for that lock.
    let works = |holder: &&HolderState| holder.state.is_active();
    let at_work: f64 = futex.holders.iter().filter(works).map(|holder| holder.share).sum();
    if futex.kind == FutexKind::OwnedMutex && at_work >= WAIT_MOSTLY {
        return per_waiter.is_none_or(|(_, high)| high > WAIT_HOLDS_NONE);
    }
    let held = futex.unheld <= WAIT_UNHELD && futex.active >= WAIT_ACTIVE;
    held && per_waiter.is_some_and(|(low, high)| low >= WAIT_HOLDS_ONE && high <= WAIT_HOLDS_TOO_MANY)
}

fn finding(profile: &WaitProfile, futex: &FutexProfile) -> WaitFinding {
    let of = profile.processes.iter().find(|p| p.process == futex.process).map_or(futex.waiting, |p| p.threads);
    let holder = futex.holders.first().filter(|holder| holder.share >= WAIT_MOSTLY);
    WaitFinding {
        cause: WaitCause::Lock,
        name: [&futex.name, &futex.function, &futex.address]
            .into_iter()
            .find(|n| !n.is_empty())
            .cloned()
            .unwrap_or_default(),
        process: futex.process.clone(),
        threads: futex.waiting,
        of,
        holder: holder.map(|holder| holder.state),
        function: futex.function.clone(),
        peer: holder.filter(|h| h.state == run::ThreadState::Peer).map(|h| h.key.clone()).unwrap_or_default(),
        share: if of > 0.0 { (futex.waiting / of).min(1.0) } else { 0.0 },
        ..WaitFinding::default()
    }
}
