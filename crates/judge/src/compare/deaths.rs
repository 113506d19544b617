//! Servers that died under load. The figures that `compare` shows do not reveal that a server died.

use run::{Incident, IncidentKind, Run, SideDeath, Trial};

/// Returns the deaths of the servers of both sides, the deaths of the old side first.
pub(super) fn deaths(old: &[Run], new: &[Run]) -> Vec<SideDeath> {
    let of = |new: bool, runs: &[Run]| runs.iter().filter_map(death).map(|text| SideDeath { new, text }).collect();
    let [old, new]: [Vec<SideDeath>; 2] = [of(false, old), of(true, new)];
    [old, new].concat()
}

/// Returns a sentence that says how a run's server died. A server that answered no request in any trial counts as dead,
/// too. Returns `None` if the server lived. The end of a generator or of an observer is no death of the server.
fn death(run: &Run) -> Option<String> {
    let ended = run.ended_by().filter(|(_, incident)| of_server(incident.kind));
    let silent = || run.sent_requests() && run.trials.iter().all(|trial| trial.measured.tally.completed == 0);
    ended
        .map(|(trial, incident)| described(run, trial, incident))
        .or_else(|| silent().then(|| "the server answered nothing".into()))
}

/// Returns the text of an incident. If the run has several loads and the text contains a time, adds the load, because
/// the time counts from the start of this load.
fn described(run: &Run, trial: &Trial, incident: &Incident) -> String {
    let loads: Vec<&Trial> = run.trials.iter().filter(|trial| !trial.kind.is_auxiliary()).collect();
    let at = loads
        .iter()
        .position(|load| std::ptr::eq(*load, trial))
        .filter(|_| loads.len() > 1 && has_time(&incident.text));
    let load = at.map_or_else(String::new, |at| {
        format!("; the time counts from the start of load {} of {}", at + 1, loads.len())
    });
    format!("{}{load}", incident.text)
}

/// Returns true if the text of an incident contains a time, such as `at 0.9 s`. The text contains no time if, for
/// example, the server ended between two loads.
fn has_time(text: &str) -> bool {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || ";:,".contains(c)).collect();
    words.windows(3).any(|of| of[0] == "at" && of[1].parse::<f64>().is_ok() && of[2] == "s")
}

const fn of_server(kind: IncidentKind) -> bool {
    matches!(kind, IncidentKind::ServerEnded | IncidentKind::ServerStopped | IncidentKind::ServerUnreachable)
}
