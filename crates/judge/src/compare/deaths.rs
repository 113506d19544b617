//! Servers that died under load. The figures of a run alone would not show the death.

use run::{IncidentKind, Run, SideDeath};

/// Returns the deaths of both sides, the old one first.
pub(super) fn deaths(old: &[Run], new: &[Run]) -> Vec<SideDeath> {
    let of = |new: bool, runs: &[Run]| runs.iter().filter_map(death).map(|text| SideDeath { new, text }).collect();
    let [old, new]: [Vec<SideDeath>; 2] = [of(false, old), of(true, new)];
    [old, new].concat()
}

/// Describes how the server of a run died; `None` if it lived. A lost generator or observer says nothing about the
/// server.
fn death(run: &Run) -> Option<String> {
    let ended = run.ended_by().filter(|(_, incident)| of_server(incident.kind));
    let silent = || run.sent_requests() && run.trials.iter().all(|trial| trial.measured.tally.completed == 0);
    ended.map(|(_, incident)| incident.text.clone()).or_else(|| silent().then(|| "the server answered nothing".into()))
}

const fn of_server(kind: IncidentKind) -> bool {
    matches!(kind, IncidentKind::ServerEnded | IncidentKind::ServerStopped | IncidentKind::ServerUnreachable)
}
