//! Time of a run: the share that was measured, and the seconds that each kind of work took.

use run::{Run, TimeSpent};

use crate::number::{positive, ratio};

/// Returns the share of a run's time in which trials were measured. Returns `None` if the length of the whole run is
/// unknown.
pub(super) fn measured_share(run: &Run) -> Option<f64> {
    let measured_s: f64 = run.trials.iter().map(|t| t.measured.window.length_s()).filter(|s| s.is_finite()).sum();
    ratio(measured_s, positive(run.elapsed_s)?).filter(|share| (0.0..=1.0).contains(share))
}

/// Returns how many seconds of a run were spent on measurement, on starts, on waiting for late answers, and on the
/// rest. Returns `None` if the total time is unknown, or if the run's trials record only their measured windows.
pub(super) fn spent(run: &Run) -> Option<TimeSpent> {
    let elapsed_s = positive(run.elapsed_s)?;
    let around: Vec<_> = run.trials.iter().filter_map(|t| t.measured.around).collect();
    let at_rest = run.at_rest.iter().map(|side| side.recording.length_s());
    let spent = TimeSpent {
        measured_s: run.trials.iter().map(|t| t.measured.window.length_s()).sum(),
        at_rest_s: at_rest.reduce(f64::max).unwrap_or(0.0),
        start_s: around.iter().map(|a| a.start_s).sum(),
        settle_s: run.trials.iter().map(|t| t.measured.window.begin_s).sum(),
        drain_s: around.iter().map(|a| a.drain_s).sum(),
        other_s: 0.0,
    };
    let known_s = spent.measured_s + spent.at_rest_s + spent.start_s + spent.settle_s + spent.drain_s;
    (!around.is_empty() && known_s.is_finite()).then(|| TimeSpent { other_s: (elapsed_s - known_s).max(0.0), ..spent })
}
