//! Worker processes that restart during a run, as with `--max-requests` of gunicorn.

use std::collections::BTreeSet;

use run::{Bottleneck, Run, Window};

use super::processes::{Processes, processes};
use crate::number::{counted, rate, ratio};
use crate::thresholds::MOST;

/// Appends a clause about restarted workers to the sentence of a verdict about the number of workers. A restarting
/// worker handles no request until it has started.
pub(crate) fn tell(verdict: &mut Bottleneck, run: &Run) {
    if verdict.id != "server-concurrency" {
        return;
    }
    if let Some((program, started)) = restarted(run) {
        let (started, each_s) = (started as f64, ratio(started as f64, loaded_s(run)).unwrap_or(0.0));
        let started = counted(started, "process");
        verdict.sentence +=
            &format!("; workers of {program} restart: it started {started} during the loads ({})", rate(each_s));
        verdict.advice.push(format!(
            "Let the workers of {program} live for more requests (in gunicorn: --max-requests): a worker that starts handles none."
        ));
    }
}

/// Returns the program whose worker processes restart, and how many processes it started after the first load. Most of
/// the program's processes in the first load must have ended by the last load. Some servers use one process per
/// connection. Such servers are left out, because their other processes run until the end.
fn restarted(run: &Run) -> Option<(&str, usize)> {
    let loads: Vec<Processes<'_>> = run.trials.iter().filter_map(processes).collect();
    let (first, last) = loads.first().zip(loads.last())?;
    let ended = |program: &str, ids: &BTreeSet<u32>| {
        let left = last.get(program).map_or(0, |now| now.intersection(ids).count());
        ids.len() > 1 && (ids.len() - left) as f64 > MOST * ids.len() as f64
    };
    let (program, ids) = first.iter().find(|(program, ids)| ended(program, ids))?;
    let all: BTreeSet<u32> = loads.iter().filter_map(|load| load.get(program)).flatten().copied().collect();
    // Without a process that stays, such as the master, the whole server was restarted.
    let stays = last.get(program).is_some_and(|now| now.intersection(ids).count() > 0);
    stays.then(|| (*program, all.len() - ids.len()))
}

/// Returns the time of all loads for which the server's counters were read, seconds.
fn loaded_s(run: &Run) -> f64 {
    let sides = run.trials.iter().filter_map(|trial| trial.server.as_ref());
    sides.map(|side| side.recording.span_s(Window::ALL)).sum()
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Returns the sentence about a server with four workers. `of_load` returns the IDs of the workers under each load.
    fn with_workers(of_load: impl Fn(u32) -> Vec<u32>) -> String {
        let mut run =
            PlantedRun::new(20_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", 60.0).rates(&[]).run();
        for (load, trial) in (0..).zip(&mut run.trials) {
            let Some(side) = &mut trial.server else { continue };
            side.processes = std::iter::once(100).chain(of_load(load)).map(|id| format!("srv:{id}")).collect();
        }
        crate::judge(&mut run);
        let verdict = run.findings.bottleneck;
        assert_eq!(verdict.id, "server-concurrency", "{verdict:#?}");
        verdict.sentence
    }

    /// In this observed case, the four workers of gunicorn ended after some 300 requests each.
    #[test]
    fn workers_that_restart_are_told() {
        let restart = with_workers(|load| (1..5).map(|worker| 200 + 4 * load + worker).collect());
        assert!(
            restart.contains("; workers of srv restart: it started 28 processes during the loads (1.75/s)"),
            "{restart}"
        );
        let stay = with_workers(|_| (1..5).map(|worker| 200 + worker).collect());
        assert!(!stay.contains("restart"), "{stay}");
        let connections = with_workers(|load| (1..8).chain(200 + 4 * load..204 + 4 * load).collect());
        assert!(!connections.contains("restart"), "a process for each connection: {connections}");
    }
}
