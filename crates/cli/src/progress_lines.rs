//! Progress lines of a search on standard error. loadline writes them if no terminal shows the live view or the
//! progress bar, such as in the log of a CI job.

use report::{Unit, quantity};
use run::{SummaryFigure, Trial};

/// Minimum length of a run for which progress lines are written, seconds.
const MIN_RUN_S: f64 = 10.0;
/// Minimum time between two progress lines, seconds.
const EVERY_S: f64 = 5.0;

/// Progress lines of a run.
pub(crate) struct ProgressLines {
    /// Expected length of the whole run, seconds.
    budget_s: f64,
    /// Time at which the previous line was written, seconds since the start of the run; `None` before the first line.
    previous_s: Option<f64>,
}

impl ProgressLines {
    /// Returns the progress lines of a run of `budget_s` seconds. Returns `None` if the run is too short for progress
    /// lines.
    pub(crate) fn of(budget_s: f64) -> Option<Self> {
        (budget_s >= MIN_RUN_S).then_some(Self { budget_s, previous_s: None })
    }

    /// Returns the progress line about a trial that ended `at_s` seconds after the start of the run. Returns `None` if
    /// the previous line was written less than [`EVERY_S`] ago. The first trial always gets a line.
    pub(crate) fn line(&mut self, at_s: f64, trial: &Trial) -> Option<String> {
        if self.previous_s.is_some_and(|previous_s| at_s < previous_s + EVERY_S) {
            return None;
        }
        self.previous_s = Some(at_s);
        Some(format!(
            "{at_s:.1} s of {}: {}, {}, p50 {}, p99 {}",
            quantity(self.budget_s, Unit::Seconds),
            trial.label,
            quantity(trial.rates.completed_rate, Unit::PerSecond),
            time(trial, SummaryFigure::P50),
            time(trial, SummaryFigure::P99)
        ))
    }
}

/// Formats a response time of a trial. Shows a missing response time as `n/a`, not as zero.
pub(crate) fn time(trial: &Trial, figure: SummaryFigure) -> String {
    match trial.latency_us.count {
        0 => "n/a".into(),
        _ => report::short_time(trial.latency_us.figure(figure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_trial_has_a_line_and_later_lines_are_seconds_apart() {
        let mut trial = Trial { label: "1 connection".into(), ..Trial::default() };
        trial.rates.completed_rate = 5_230.0;
        let mut lines = ProgressLines::of(30.0).unwrap();
        assert_eq!(lines.line(1.94, &trial).unwrap(), "1.9 s of 30 s: 1 connection, 5,230/s, p50 n/a, p99 n/a");
        assert_eq!([3.0, 6.8].map(|at_s| lines.line(at_s, &trial).is_some()), [false; 2]);
        assert!(lines.line(7.0, &trial).is_some() && lines.line(8.0, &trial).is_none());
        assert!(ProgressLines::of(3.0).is_none(), "a short run ends soon anyway");
    }
}
