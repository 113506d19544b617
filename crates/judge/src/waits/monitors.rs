//! Finds locks of language runtimes in the stacks of waiting threads.

use run::{MonitorGroup, MonitorKind, WaitCause, WaitFinding, WaitProfile};

use super::activity::{Activity, part_of};
use super::requests::Requests;
use crate::thresholds::WAIT_MOSTLY;

/// Usual names of the runtimes' locks.
const NAMES: &[(MonitorKind, &str)] = &[
    (MonitorKind::JavaMonitor, "a Java monitor (synchronized)"),
    (MonitorKind::RubyLock, "Ruby's interpreter lock (GVL)"),
];

/// Returns the Java monitors that most requests in progress wait for. Returns Ruby's interpreter lock if a thread
/// mostly waits for it, because each waiting thread has code to run. If more threads sleep or wait for a disk or a
/// peer, Ruby's lock is not the limit.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let limits = |group: &&MonitorGroup| match group.kind {
        MonitorKind::RubyLock => group.waiting >= WAIT_MOSTLY.max(blocked(profile, &group.process)),
        MonitorKind::JavaMonitor | MonitorKind::Other => requests.are_held_by(group.waiting),
    };
    profile.monitors.iter().filter(limits).filter_map(|group| finding(profile, group)).collect()
}

/// Returns the number of threads of a process in the most frequent wait other than for a lock.
fn blocked(profile: &WaitProfile, process: &str) -> f64 {
    let process = profile.processes.iter().find(|known| known.process == process);
    process.and_then(|process| Activity::of(profile, process).blocked()).map_or(0.0, |(_, threads, _)| threads)
}

/// Returns true if `name` is the name of a runtime's lock.
pub(super) fn is_named(name: &str) -> bool {
    NAMES.iter().any(|(_, known)| *known == name)
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
