//! Finds locks of language runtimes in the stacks of waiting threads.

use run::{MonitorGroup, MonitorKind, WaitCause, WaitFinding, WaitProfile};

use super::activity::part_of;
use super::requests::Requests;

/// Usual names of the runtimes' locks.
const NAMES: &[(MonitorKind, &str)] = &[(MonitorKind::JavaMonitor, "a Java monitor (synchronized)")];

/// Returns the locks that most requests in progress wait for.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let held = profile.monitors.iter().filter(|group| requests.are_held_by(group.waiting));
    held.filter_map(|group| finding(profile, group)).collect()
}

/// Returns true if this is the name of a runtime's lock.
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
