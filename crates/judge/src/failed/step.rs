//! Steps of a trial: short parts of its window, each with the requests that ended in it.

use run::Trial;

use crate::context::single::failed_and_all;
use crate::thresholds::REFUSED;

/// Counts of the requests that ended in one step (a short part of equal length) of a trial's window, or in the whole
/// window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// Trial to which the step belongs.
    pub(crate) trial: &'a Trial,
    /// Start of the step, seconds since the load began.
    pub(crate) from_s: f64,
    /// End of the step, seconds since the load began.
    pub(crate) to_s: f64,
    /// Number of good answers.
    pub(crate) good: f64,
    /// Number of failed and refused requests.
    pub(crate) failed: f64,
}

impl Step<'_> {
    /// Returns the number of requests that ended.
    pub(crate) fn all(&self) -> f64 {
        self.good + self.failed
    }

    /// Returns true if hardly any answer was good.
    pub(crate) fn all_failed(&self) -> bool {
        self.good <= REFUSED * self.all()
    }

    /// Returns true if the server answered requests, and hardly any failed.
    pub(crate) fn is_answered(&self) -> bool {
        self.good > 0.0 && self.none_failed()
    }

    /// Returns true if hardly any request failed.
    pub(crate) fn none_failed(&self) -> bool {
        self.failed <= REFUSED * self.all()
    }
}

/// Returns the steps of a trial. If failures were not counted per step, returns the whole window as one step.
pub(crate) fn steps(trial: &Trial) -> Vec<Step<'_>> {
    let measured = &trial.measured;
    let (window, step_s) = (measured.window, measured.step_s());
    let at = |series: &[f64], i: usize| step_s * series.get(i).copied().unwrap_or(0.0).max(0.0);
    if measured.series_failed.is_empty() {
        let (failed, all) = failed_and_all(trial);
        let good = (all - failed).max(0.0);
        return vec![Step { trial, from_s: window.begin_s, to_s: window.end_s, good, failed }];
    }
    let step = |i: usize| Step {
        trial,
        from_s: window.begin_s + i as f64 * step_s,
        to_s: window.begin_s + (i + 1) as f64 * step_s,
        good: (at(&measured.series_completed, i) - at(&measured.series_refused, i)).max(0.0),
        failed: at(&measured.series_failed, i),
    };
    (0..measured.series_completed.len()).map(step).collect()
}
