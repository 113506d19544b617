//! Choice of the next rate in the open-loop search. Pure.
//!
//! Before any rate failed the search climbs, and before any rate passed it descends. After that it follows the
//! estimate from all windows. It alternates between the capacity itself and a rate beyond it, at which enough
//! requests are late for a short window to contain some. No single window decides, so one that was disturbed is
//! outvoted.

use judge::Pooled;

/// First rate tried, as a share of the closed loop's highest rate: near the answer, below the collapse.
const FIRST_SHARE: f64 = 0.80;
/// Factor of a step up while every rate passes.
const STEP_UP: f64 = 1.20;
/// Factor of a step down while every rate fails.
const STEP_DOWN: f64 = 0.70;
/// Share of the closed loop's highest rate below which the search gives up: no rate can meet the objective.
const GIVE_UP_SHARE: f64 = 0.01;
/// Factor from the highest failed rate to the overload step.
const OVERLOAD_FACTOR: f64 = 1.30;
/// Minimum number of windows for an interval to be trusted, however narrow.
const MIN_WINDOWS: usize = 5;

/// State of a search.
#[derive(Clone, Debug)]
pub struct RateSearch {
    best_closed: f64,
    precision: f64,
    next: f64,
    seen: usize,
    /// Highest rate that passed and lowest rate that failed.
    passed: Option<f64>,
    failed: Option<f64>,
    done: bool,
}

impl RateSearch {
    /// Starts a search at the closed loop's highest rate. It ends at this half interval, as a share of the capacity.
    pub fn new(best_closed: f64, precision: f64) -> Self {
        Self {
            best_closed,
            precision,
            next: best_closed * FIRST_SHARE,
            seen: 0,
            passed: None,
            failed: None,
            done: false,
        }
    }

    /// Returns the rate to offer next; `None` once the interval is narrow or no rate can pass.
    pub fn next(&self) -> Option<f64> {
        let hopeless = self.passed.is_none() && self.next < self.best_closed * GIVE_UP_SHARE;
        (!self.done && !hopeless && self.next > 0.0 && self.next.is_finite()).then_some(self.next)
    }

    /// Takes the result of the rate from [`RateSearch::next`], and the estimate from all windows.
    pub fn record(&mut self, passed: bool, pooled: Option<&Pooled>) {
        let rate = self.next;
        self.seen += 1;
        match passed {
            true => self.passed = Some(self.passed.map_or(rate, |h| h.max(rate))),
            false => self.failed = Some(self.failed.map_or(rate, |f| f.min(rate))),
        }
        self.next = match (self.passed, self.failed, pooled) {
            (None, _, _) => rate * STEP_DOWN,
            (Some(top), None, _) => top * STEP_UP,
            (Some(passed), Some(failed), None) => (passed * failed).sqrt(),
            (Some(passed), Some(_), Some(pooled)) => self.follow(pooled).clamp(passed * STEP_DOWN, passed * STEP_UP),
        };
    }

    fn follow(&mut self, pooled: &Pooled) -> f64 {
        self.done = self.seen >= MIN_WINDOWS && pooled.estimate.precision() <= self.precision;
        if self.seen.is_multiple_of(2) { pooled.estimate.rate } else { pooled.estimate.beyond(&pooled.constraint) }
    }

    /// Returns the rate of the overload step.
    pub fn overload(&self) -> f64 {
        self.failed.or(self.passed.map(|h| h * STEP_UP)).unwrap_or(self.best_closed).max(self.best_closed)
            * OVERLOAD_FACTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbs_while_all_holds_and_goes_down_while_nothing_does() {
        let mut search = RateSearch::new(1000.0, 0.03);
        assert_eq!(search.next(), Some(800.0));
        search.record(true, None);
        assert_eq!(search.next(), Some(960.0));
        search.record(false, None);
        let between = search.next().unwrap();
        assert!(between > 800.0 && between < 960.0, "{between}");
        assert!((search.overload() - 1300.0).abs() < 1e-9);
        let mut search = RateSearch::new(1000.0, 0.03);
        let mut steps = 0;
        while search.next().is_some() {
            search.record(false, None);
            steps += 1;
        }
        assert!((10..20).contains(&steps), "gives up after {steps}");
    }
}
