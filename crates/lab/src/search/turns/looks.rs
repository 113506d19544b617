//! Interim analyses ("looks") of the windows so far. A comparison ends early once its windows have decided.

use run::{ComparisonOutcome, Run};

use super::windows::{MIN_WINDOWS, Windows};

/// Shares of the windows' time at which the windows are judged, in addition to the end. Suppose that a whole budget
/// finds a difference in nine of ten comparisons. Looks at these shares find such a difference after 76 % of the
/// windows on average. Two looks find such a difference after 87 % of the windows, and twelve after 71 % (simulated in
/// `stats::sequential`). Each look judges a growing run, so twelve looks cost three times as much.
pub(super) const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

/// Looks at the windows of a comparison.
pub(super) struct Looks {
    /// Smallest relative change that counts.
    threshold: f64,
    /// Shares of the windows' time at the looks so far.
    taken: Vec<f64>,
}

impl Looks {
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, taken: Vec::new() }
    }

    /// Judges the windows if a look is due. Returns the outcome.
    pub(super) fn look(&mut self, runs: [&Run; 2], windows: &Windows<'_>) -> Option<ComparisonOutcome> {
        let share = windows.used_s / windows.room_s;
        let last = self.taken.last().copied().unwrap_or(0.0);
        let due = SHARES.iter().any(|at| last < *at && *at <= share);
        // The last pair gets the final look, which is separate.
        if !due || windows.pairs < MIN_WINDOWS || !windows.fit(windows.room_s) {
            return None;
        }
        self.taken.push(share);
        let [old, new] = runs.map(std::slice::from_ref);
        let at = (windows.pairing(), self.taken.as_slice());
        judge::compare_at(("old", old), ("new", new), self.threshold, at).ok().map(|comparison| comparison.outcome)
    }

    /// Returns all looks. Unless the last look ended the comparison, the final look follows, which gets the rest of the
    /// significance level.
    pub(super) fn all(mut self, ended: bool) -> Vec<f64> {
        if !ended {
            self.taken.push(1.0);
        }
        self.taken
    }
}
