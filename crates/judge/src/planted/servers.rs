//! Parts of made-up runs that tests in several modules use.

use run::Run;

use super::{PlantedRun, Point, Who};
use crate::context::sides::window_of;

/// Names of the four threads of a made-up server.
const THREADS: [&str; 4] = ["srv:100/101", "srv:100/102", "srv:100/103", "srv:100/104"];

/// Sets the CPU use of the server at each operating point, in CPUs, equally divided among its four threads.
pub(crate) fn uses(planted: PlantedRun, cpus: impl Fn(&Point) -> f64 + Copy + 'static) -> PlantedRun {
    let planted = planted
        .per_s(Who::Server, "process.cpu", "srv:100", move |p| cpus(p) * 1e6)
        .per_s(Who::Server, "cpu.user", "total", move |p| cpus(p) * 1e6)
        .per_s(Who::Server, "cpu.idle", "total", move |p| (4.0 - cpus(p)).max(0.0) * 1e6);
    THREADS
        .iter()
        .fold(planted, |planted, thread| planted.per_s(Who::Server, "thread.cpu", thread, move |p| cpus(p) / 4.0 * 1e6))
}

/// Adds the recording before any load, in which the server's threads use `share` of their use under load.
pub(crate) fn rested(mut run: Run, share: f64) -> Run {
    let mut side = run.trials[0].server.clone().unwrap();
    let begin_s = window_of(&run.trials[0]).begin_s;
    for column in side.recording.columns.iter_mut().filter(|c| c.counter.as_str().ends_with(".cpu")) {
        let first = column.values.first().copied().flatten().unwrap_or(0.0);
        column.values.iter_mut().flatten().for_each(|value| *value = first + share * (*value - first));
    }
    assert!(begin_s.abs() < 1e-9);
    run.at_rest = vec![run.trials[0].client.clone(), side];
    run
}
