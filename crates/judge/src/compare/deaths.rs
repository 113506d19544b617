//! Servers that died under load. The figures that `compare` shows do not reveal that a server died.

use run::{Incident, Run, SideDeath, Trial};

/// Returns the deaths of the servers of both sides, the deaths of the old side first.
pub(super) fn deaths(old: &[Run], new: &[Run]) -> Vec<SideDeath> {
    let of = |new: bool, runs: &[Run]| runs.iter().filter_map(death).map(|text| SideDeath { new, text }).collect();
    let [old, new]: [Vec<SideDeath>; 2] = [of(false, old), of(true, new)];
    [old, new].concat()
}

/// Returns a sentence that says how a run's server died. A server that answered no request in any trial also counts as
/// dead. Returns `None` if the server did not die. The end of a generator or of an observer is not the death of the
/// server.
fn death(run: &Run) -> Option<String> {
    let ended = run.ended_by().filter(|(_, incident)| incident.kind.is_end_of_server());
    // A window that the user ended at once may have no answer although the server works.
    let windows = || run.trials.iter().filter(|trial| !(run.interrupted && trial.is_cut_off()));
    let is_silent = || windows().all(|trial| trial.measured.tally.completed == 0) && windows().next().is_some();
    let silent = || run.sent_requests() && is_silent();
    ended
        .map(|(trial, incident)| described(run, trial, incident))
        .or_else(|| silent().then(|| "the server answered nothing".into()))
}

/// Returns the text of an incident. If the run has several loads, adds the number of the load, because a time in the
/// text counts from the start of this load.
fn described(run: &Run, trial: &Trial, incident: &Incident) -> String {
    let loads: Vec<&Trial> = run.trials.iter().filter(|trial| !trial.kind.is_auxiliary()).collect();
    let at = loads.iter().position(|load| std::ptr::eq(*load, trial)).filter(|_| loads.len() > 1);
    let load = at.map_or_else(String::new, |at| format!(" (load {} of {})", at + 1, loads.len()));
    format!("{}{load}", incident.text)
}
