//! Saved runs of comparisons of live servers. Each comparison saves one run of each server. The times of the windows
//! show which two runs belong together, so their windows are pairs again.
//!
//! If the processes of both servers went on from one comparison to the next, all comparisons together are one longer
//! comparison. If a server was started anew, its memory layout changed, so each comparison is one observation.

use std::collections::BTreeMap;

use run::{Column, Run, Trial, TrialKind};

use super::observations::Pairing;

/// Command of a run that a comparison of live servers saved.
const COMMAND: &str = "compare";
/// Counter of the CPU time that each process used since its start.
const CPU_TIME: &str = "process.cpu";

/// Sorts saved runs by the time of their first load, so that runs of one comparison get the same index on both sides.
/// Runs of earlier versions have no such time, and come first.
pub fn sort_by_time(runs: &mut [Run]) {
    let began_s = |run: &Run| run.trials.first().and_then(|trial| trial.measured.load_began_unix_s).unwrap_or(0.0);
    runs.sort_by(|a, b| began_s(a).total_cmp(&began_s(b)));
}

/// Returns the way in which the windows of saved runs were measured. The runs with the same index must belong to one
/// comparison ([`sort_by_time`]), or else they count as runs that were measured separately.
pub(super) fn pairing(old: &[Run], new: &[Run]) -> Pairing {
    let belong_together = !old.is_empty() && old.len() == new.len() && old.iter().zip(new).all(in_one_comparison);
    match belong_together {
        false => Pairing::Kept,
        true if !(go_on(old) && go_on(new)) => Pairing::Repeated,
        true if old.iter().zip(new).any(at_once) => Pairing::AtOnce,
        true => Pairing::InTurns,
    }
}

/// Returns one time span per fixed-load trial of a run: from the begin of its load to the end of its window, seconds
/// since 1970. Returns `None` if a time is unknown, as in runs of earlier versions.
fn times(run: &Run) -> Option<Vec<(f64, f64)>> {
    let of = |trial: &Trial| {
        let measured = &trial.measured;
        Some((measured.load_began_unix_s?, measured.load_began_unix_s? + measured.window.end_s))
    };
    run.trials.iter().filter(|trial| trial.kind == TrialKind::Fixed).map(of).collect()
}

/// Returns true if two times, each with its begin and its end, overlap.
fn overlap(old: (f64, f64), new: (f64, f64)) -> bool {
    old.0 < new.1 && new.0 < old.1
}

/// Returns true if one comparison of live servers saved both runs: both come from this command, and their times
/// overlap.
fn in_one_comparison((old, new): (&Run, &Run)) -> bool {
    let span = |run: &Run| {
        let times = times(run).filter(|_| run.plan.command == COMMAND)?;
        Some((times.first()?.0, times.last()?.1))
    };
    span(old).zip(span(new)).is_some_and(|(old, new)| overlap(old, new))
}

/// Returns true if both servers were measured at the same time, and not in turns.
fn at_once((old, new): (&Run, &Run)) -> bool {
    let [old, new] = [old, new].map(|run| times(run).unwrap_or_default());
    old.iter().zip(&new).any(|(old, new)| overlap(*old, *new))
}

/// Returns true if all runs measured the same processes of a server. A process with an equal number may be another
/// process, for example in a new container. The CPU time of one process never falls.
fn go_on(runs: &[Run]) -> bool {
    runs.windows(2).all(|pair| {
        let before = pair[0].trials.last().map(|trial| cpu_times(trial, <[f64]>::last));
        let after = pair[1].trials.first().map(|trial| cpu_times(trial, <[f64]>::first));
        let Some((before, after)) = before.zip(after).filter(|(before, _)| !before.is_empty()) else { return false };
        let grew = |(process, cpu): (&&str, &f64)| after.get(process).is_some_and(|later| later >= cpu);
        before.len() == after.len() && before.iter().all(grew)
    })
}

/// Returns the CPU time of each process of the server, at one sample of a trial.
fn cpu_times(trial: &Trial, sample: fn(&[f64]) -> Option<&f64>) -> BTreeMap<&str, f64> {
    let columns = trial.server.iter().flat_map(|server| server.recording.columns_of(CPU_TIME));
    let known = |column: &Column| column.values.iter().flatten().copied().collect::<Vec<f64>>();
    columns.filter_map(|column| Some((column.instance.as_str(), *sample(&known(column))?))).collect()
}
