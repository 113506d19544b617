//! Locks of language runtimes, found in the stacks of waiting threads.

use run::{MonitorGroup, MonitorKind, WaitCause, WaitFinding, WaitProfile};

use super::activity::{Activity, part_of};
use super::requests::Requests;
use crate::thresholds::WAIT_MOSTLY;

/// Usual name of each kind of runtime lock.
const NAMES: &[(MonitorKind, &str)] = &[
    (MonitorKind::JavaMonitor, "a Java monitor (synchronized)"),
    (MonitorKind::RubyLock, "Ruby's interpreter lock (GVL)"),
];

/// Returns the runtime locks that limit a process.
///
/// A Java monitor limits a process if at least half of the requests in progress wait for the monitor. Ruby's
/// interpreter lock limits a process if on average at least half a thread waits for the lock. Each thread that waits
/// for this lock has code to run. Ruby's interpreter lock is no limit if more threads sleep, or wait for a disk or a
/// peer, than wait for the lock.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let limits = |group: &&MonitorGroup| match group.kind {
        MonitorKind::RubyLock => group.waiting >= WAIT_MOSTLY.max(blocked(profile, &group.process)),
        MonitorKind::JavaMonitor | MonitorKind::Other => requests.are_held_by(group.waiting),
    };
    profile.monitors.iter().filter(limits).filter_map(|group| finding(profile, group)).collect()
}

/// Returns the mean number of threads of a process in its most frequent wait. Threads that wait for a lock are not
/// counted.
fn blocked(profile: &WaitProfile, process: &str) -> f64 {
    let process = profile.processes.iter().find(|known| known.process == process);
    process.and_then(|process| Activity::of(profile, process).blocked()).map_or(0.0, |(_, threads, _)| threads)
}

/// Returns true if `name` is the name of a runtime lock in [`NAMES`].
pub(super) fn is_named(name: &str) -> bool {
    NAMES.iter().any(|(_, known)| *known == name)
}

/// Returns true if `name` is the name of a lock that the program's own code takes, rather than its runtime.
pub(super) fn is_of_program(name: &str) -> bool {
    NAMES.iter().any(|(kind, known)| *kind == MonitorKind::JavaMonitor && *known == name)
}

fn finding(profile: &WaitProfile, group: &MonitorGroup) -> Option<WaitFinding> {
    let (_, name) = NAMES.iter().find(|(kind, _)| *kind == group.kind)?;
    let (of, share) = part_of(profile, &group.process, group.waiting);
    Some(WaitFinding {
        cause: WaitCause::Lock,
        name: (*name).into(),
        process: group.process.clone(),
        threads: group.waiting,
        of,
        function: group.function.clone(),
        share,
        ..WaitFinding::default()
    })
}
