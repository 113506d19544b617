//! Servers that died under load. The compared figures would not show the death.

use run::{IncidentKind, Run, SideDeath};

/// Returns the deaths of both sides, those of the old side first.
pub(super) fn deaths(old: &[Run], new: &[Run]) -> Vec<SideDeath> {
    let of = |new: bool, runs: &[Run]| runs.iter().filter_map(death).map(|text| SideDeath { new, text }).collect();
    let [old, new]: [Vec<SideDeath>; 2] = [of(false, old), of(true, new)];
    [old, new].concat()
}

/// Returns a sentence that says how a run's server died; `None` if it lived. The end of a generator or observer does
/// not count.
fn death(run: &Run) -> Option<String> {
    let ended = run.ended_by().filter(|(_, incident)| of_server(incident.kind));
    let silent = || run.sent_requests() && run.trials.iter().all(|trial| trial.measured.tally.completed == 0);
    ended.map(|(_, incident)| incident.text.clone()).or_else(|| silent().then(|| "the server answered nothing".into()))
}

const fn of_server(kind: IncidentKind) -> bool {
    matches!(kind, IncidentKind::ServerEnded | IncidentKind::ServerStopped | IncidentKind::ServerUnreachable)
}
