//! Interim judgements of a comparison ("looks"), based on the measurements so far. If a look gives a result, the
//! comparison needs no more measurements to decide.

use run::{ComparisonOutcome, Run};

use super::windows::{MIN_WINDOWS, Windows};

/// Shares of the measuring time after which the measurements so far are judged, in addition to the judgement at the
/// end. Interim judgements find a difference earlier: after 76 % of the measurements on average with three of them, 87
/// % with two, and 71 % with twelve (simulated in `stats::sequential`). In the simulation of `stats::sequential`, a
/// comparison with the whole budget finds the difference in nine of ten cases. Each interim judgement uses all
/// measurements so far, so twelve judgements need more computing time than three.
pub(super) const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

/// Interim judgements ("looks") of the measurements of a comparison.
pub(super) struct Looks {
    /// Smallest relative change that matters.
    threshold: f64,
    /// Shares of the measuring time at which the measurements were judged.
    taken: Vec<f64>,
}

impl Looks {
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, taken: Vec::new() }
    }

    /// Judges the measurements if an interim judgement is due, and returns the outcome. Returns `None` if no judgement
    /// is due, or if there are too few measurements for one.
    pub(super) fn look(&mut self, runs: [&Run; 2], windows: &Windows<'_>) -> Option<ComparisonOutcome> {
        let share = windows.used_s / windows.room_s;
        let last = self.taken.last().copied().unwrap_or(0.0);
        let due = SHARES.iter().any(|at| last < *at && *at <= share);
        // After the last pair of measurements, this function makes no interim judgement, because the final judgement
        // follows.
        if !due || windows.pairs < MIN_WINDOWS || !windows.fit(windows.room_s) {
            return None;
        }
        self.taken.push(share);
        let [old, new] = runs.map(std::slice::from_ref);
        let at = (windows.pairing(), self.taken.as_slice());
        judge::compare_at(("old", old), ("new", new), self.threshold, at).ok().map(|comparison| comparison.outcome)
    }

    /// Returns the share of the measurements at each look (interim judgement) so far. If no look ended the comparison,
    /// adds the final look at all measurements. The final look gets the remaining significance level.
    pub(super) fn all(mut self, ended: bool) -> Vec<f64> {
        if !ended {
            self.taken.push(1.0);
        }
        self.taken
    }
}
