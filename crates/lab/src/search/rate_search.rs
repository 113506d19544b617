//! Choice of the next rate in the open-loop search. Pure functions.
//!
//! Until a rate fails the search climbs, and until a rate passes it descends. Beyond the rate of a closed loop that was
//! still growing, the search climbs by doubling. Once a rate has failed and another has passed, the search follows the
//! estimate from all windows. The search alternates between the capacity itself and a higher rate, at which enough
//! requests are late for a short window to contain some. No single window decides, so the others outvote a disturbed
//! one.

use judge::Pooled;

/// First rate tried, as a share of the closed loop's highest rate. This rate is near the capacity, but does not
/// overload the server. With random arrivals at a single queue, responses then take five times as long as without load,
/// and the default objective allows ten times.
const FIRST_SHARE: f64 = 0.80;
/// Factor of a step up while every rate passes, up to the closed loop's highest rate.
const STEP_UP: f64 = 1.20;
/// Factor of a step up beyond the closed loop's highest rate, if the closed loop did not show where the server is full.
const STEP_FAR_UP: f64 = 2.0;
/// Factor of a step down while every rate fails.
const STEP_DOWN: f64 = 0.70;
/// Share of the closed loop's highest rate below which the search gives up, because no rate can meet the objective.
const GIVE_UP_SHARE: f64 = 0.01;
/// Factor from the highest failed rate to the overload step.
const OVERLOAD_FACTOR: f64 = 1.30;
/// Minimum number of windows before an interval is trusted, however narrow it is. With five, a search of ten seconds on
/// a slow server is 8 % too high on average, which its interval covers (`tests/known_capacity/budgets.rs`).
pub(super) const MIN_WINDOWS: usize = 5;

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
    /// Starts a search near the closed loop's highest rate, or beyond it if that rate still grew with the clients. The
    /// search ends when the half-width of the interval is at most `precision`, as a share of the capacity.
    pub fn new(best_closed: f64, precision: f64, still_grew: bool) -> Self {
        Self {
            best_closed,
            precision,
            next: best_closed * if still_grew { STEP_FAR_UP } else { FIRST_SHARE },
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
            (Some(top), None, _) => self.climb(top),
            (Some(passed), Some(failed), None) => (passed * failed).sqrt(),
            (Some(passed), Some(_), Some(pooled)) => self.follow(pooled).clamp(passed * STEP_DOWN, passed * STEP_UP),
        };
    }

    fn climb(&self, passed: f64) -> f64 {
        passed * if passed >= self.best_closed { STEP_FAR_UP } else { STEP_UP }
    }

    /// Returns true if no window was conducted yet.
    pub fn is_unseen(&self) -> bool {
        self.seen == 0
    }

    /// Returns true if some rate failed, so that a higher rate shows the server under overload.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    fn follow(&mut self, pooled: &Pooled) -> f64 {
        self.done = self.seen >= MIN_WINDOWS && pooled.estimate.precision() <= self.precision;
        if self.seen.is_multiple_of(2) { pooled.estimate.rate } else { pooled.estimate.beyond(&pooled.constraint) }
    }

    /// Returns the rate of the overload step.
    pub fn overload(&self) -> f64 {
        self.failed.unwrap_or(self.best_closed).max(self.best_closed) * OVERLOAD_FACTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_climbs_while_rates_hold_and_descends_while_none_does() {
        let mut search = RateSearch::new(1000.0, 0.03, false);
        assert_eq!(search.next(), Some(800.0));
        search.record(true, None);
        assert_eq!(search.next(), Some(960.0));
        search.record(false, None);
        let between = search.next().unwrap();
        assert!(between > 800.0 && between < 960.0, "{between}");
        assert!((search.overload() - 1300.0).abs() < 1e-9);
        let mut search = RateSearch::new(1000.0, 0.03, false);
        let mut steps = 0;
        while search.next().is_some() {
            search.record(false, None);
            steps += 1;
        }
        assert!((10..20).contains(&steps), "gives up after {steps}");
    }

    /// The server completes 1,000/s, but its sweep had time for one client only (93/s).
    #[test]
    fn beyond_a_sweep_that_still_grew_the_rate_doubles() {
        let mut search = RateSearch::new(93.0, 0.03, true);
        let mut rates = Vec::new();
        while let Some(rate) = search.next().filter(|_| rates.len() < 4) {
            rates.push(rate);
            search.record(rate < 1000.0, None);
        }
        assert_eq!(rates, [186.0, 372.0, 744.0, 1488.0]);
        let mut flat = RateSearch::new(1000.0, 0.03, false);
        (0..3).for_each(|_| flat.record(true, None));
        assert_eq!(flat.next(), Some(1152.0 * 2.0), "its closed loop was not the limit");
    }
}
