//! Locks of language runtimes that are global variables: Python's interpreter lock.

use std::collections::BTreeMap;

use run::{
    FutexKind, FutexProfile, HolderFunction, HolderState, HolderThread, ThreadState, WaitCause, WaitFinding,
    WaitProcess, WaitProfile,
};

use super::activity::Activity;
use super::locks::{RUNTIME_LOCKS, finding};
use crate::thresholds::WAIT_MOSTLY;

/// Returns the processes that a runtime's lock limits.
pub(super) fn causes(profile: &WaitProfile) -> Vec<WaitFinding> {
    let of = |(global, name): &(&str, &str)| -> Vec<WaitFinding> {
        profile.processes.iter().filter_map(|process| of_process(profile, process, global, name)).collect()
    };
    RUNTIME_LOCKS.iter().flat_map(of).collect()
}

/// Returns the finding about the lock of a process, if two conditions hold. On average, at least half a thread waits
/// for the lock. No other cause (sleep, disk or peer) has more waiting threads than the lock.
fn of_process(profile: &WaitProfile, process: &WaitProcess, global: &str, name: &str) -> Option<WaitFinding> {
    let is_part = |futex: &&FutexProfile| futex.process == process.process && futex.name == global;
    let parts: Vec<&FutexProfile> = profile.futexes.iter().filter(is_part).collect();
    let lock = whole(&parts, name)?;
    let blocked = Activity::of(profile, process).blocked().map_or(0.0, |(_, threads, _)| threads);
    (lock.waiting >= WAIT_MOSTLY.max(blocked))
        .then(|| WaitFinding { cause: WaitCause::Lock, ..finding(profile, &lock) })
}

/// Merges the futexes of one lock, because CPython's threads alternate between two futexes. Drops the states of the
/// holders, which were guessed from the active threads. Only the interpreter's memory shows the real holders.
fn whole(parts: &[&FutexProfile], name: &str) -> Option<FutexProfile> {
    let largest = parts.iter().max_by(|a, b| a.waiting.total_cmp(&b.waiting))?;
    let holder_functions = functions(parts);
    let known: u64 = holder_functions.iter().map(|function| function.stacks).sum();
    let computes = HolderState { state: ThreadState::OnCpu, share: 1.0, ..HolderState::default() };
    Some(FutexProfile {
        name: name.into(),
        kind: FutexKind::OwnedMutex,
        function: String::new(),
        holders: if known > 0 { vec![computes] } else { Vec::new() },
        holder_readings: known,
        holder_threads: if known > 0 { threads(parts) } else { Vec::new() },
        holder_functions,
        owned: if known > 0 { 1.0 } else { 0.0 },
        waiting: parts.iter().map(|part| part.waiting).sum(),
        ..(*largest).clone()
    })
}

/// Returns the functions in which computing holders were, added up over the futexes.
fn functions(parts: &[&FutexProfile]) -> Vec<HolderFunction> {
    let mut stacks: BTreeMap<&str, u64> = BTreeMap::new();
    let computing = |function: &&HolderFunction| function.state == ThreadState::OnCpu;
    for function in parts.iter().flat_map(|part| &part.holder_functions).filter(computing) {
        *stacks.entry(&function.function).or_default() += function.stacks;
    }
    let all: u64 = stacks.values().sum();
    let row = |(function, n): (&str, u64)| HolderFunction {
        state: ThreadState::OnCpu,
        function: function.into(),
        stacks: n,
        share: n as f64 / all.max(1) as f64,
    };
    stacks.into_iter().map(row).collect()
}

/// Returns the threads that held the lock, added up over the futexes.
fn threads(parts: &[&FutexProfile]) -> Vec<HolderThread> {
    let mut threads: BTreeMap<u32, HolderThread> = BTreeMap::new();
    // A futex lists only its most frequent threads. A thread's readings divided by its share give all readings.
    let readings_of = |thread: &HolderThread| thread.readings as f64 / thread.share.max(f64::MIN_POSITIVE);
    let all: f64 = parts.iter().filter_map(|part| part.holder_threads.first()).map(readings_of).sum();
    for thread in parts.iter().flat_map(|part| &part.holder_threads) {
        let sum = threads.entry(thread.id).or_insert_with(|| HolderThread { readings: 0, ..thread.clone() });
        sum.readings += thread.readings;
    }
    threads
        .into_values()
        .map(|thread| HolderThread { share: thread.readings as f64 / all.max(1.0), ..thread })
        .collect()
}
