//! Signs that the requests of the load suffer from a lack of memory: failures, lost processes, and small TCP windows.

use run::{IncidentKind, Trial};

use crate::Facts;
use crate::context::single::{failed_share_of_all, sides_of, unanswered};
use crate::context::view::View;
use crate::thresholds::{LIMIT_HITS, STALLS_SEEN};

pub(super) fn requests_failed(trial: &Trial) -> bool {
    trial.tally.error_count() > 0 || unanswered(trial) > 0.0
}

/// Returns true if more requests failed than the objective allows, and more than under the lightest load. A few
/// requests may fail under any load, for example because the server closes an idle connection.
pub(super) fn fails_more(facts: &Facts<'_>, trial: &Trial) -> bool {
    let share = |trial: &Trial| failed_share_of_all(trial).unwrap_or(0.0);
    let light = facts.unloaded.filter(|light| !std::ptr::eq(*light, trial)).map_or(0.0, share);
    share(trial) > facts.limits.errors.max(light)
}

pub(super) fn lost_a_process(trial: &Trial) -> bool {
    trial.incidents.iter().any(|i| matches!(i.kind, IncidentKind::WorkerEnded | IncidentKind::ServerEnded))
}

/// Returns true if requests of the load failed, or if TCP windows or send buffers stopped the load's connections. A TCP
/// stack that lacks memory keeps windows small.
pub(super) fn connections_suffer(view: &View<'_>) -> bool {
    let stopped = |id: &'static str| sides_of(view.trial).iter().any(|v| v.value(id).is_some_and(|s| s >= STALLS_SEEN));
    requests_failed(view.trial) || stopped("connection.rwnd_limited") || stopped("connection.sndbuf_limited")
}

/// Returns true if a lack of TCP memory may have made windows or send buffers so small that they stopped the load's
/// connections. Windows of slow or distant clients stop connections under any load. If TCP ran short of memory only a
/// few times, the windows must have stopped connections for a larger share of the time than under the lightest load.
pub(super) fn windows_shrank(facts: &Facts<'_>, view: &View<'_>) -> bool {
    if view.value("tcp.memory_pressures").is_some_and(|entries| entries >= LIMIT_HITS) {
        return connections_suffer(view);
    }
    let Some(light) = facts.unloaded.filter(|light| !std::ptr::eq(*light, view.trial)) else { return false };
    let stopped =
        |trial: &Trial, id: &'static str| sides_of(trial).iter().filter_map(|v| v.value(id)).fold(0.0, f64::max);
    ["connection.rwnd_limited", "connection.sndbuf_limited"]
        .into_iter()
        .any(|id| stopped(view.trial, id) - stopped(light, id) >= STALLS_SEEN)
}
