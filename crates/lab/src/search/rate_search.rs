//! Choice of the next rate in the open-loop search. All functions of this file are pure.
//!
//! The search raises the rate until a rate fails, or lowers it until a rate passes. Above the highest rate of the
//! closed-loop sweep, the search doubles the rate at each step. If throughput was still growing at the end of the
//! sweep, the first rate is already twice the highest rate of the sweep. Once one rate has failed and another has
//! passed, the search estimates the capacity from all measurements. The search then alternates between the estimated
//! capacity and a higher rate, at which even a short measurement has some late requests. The estimate uses all
//! measurements, so a single disturbed measurement cannot determine the estimate.

use judge::Pooled;

/// First rate tried, as a share of the highest rate of the closed loop. The first rate is near the capacity, but does
/// not overload the server. With random arrivals at a single queue, response times at this rate are five times those
/// without load. The default objective allows ten times the response times without load.
const FIRST_SHARE: f64 = 0.80;
/// Factor by which the rate grows as long as every rate passes, up to the highest rate of the closed loop.
const STEP_UP: f64 = 1.20;
/// Factor by which the rate grows beyond the highest rate of the closed loop. A server that completes more than the
/// closed loop did may have a much higher limit.
const STEP_FAR_UP: f64 = 2.0;
/// Factor by which the rate is lowered as long as every rate fails.
const STEP_DOWN: f64 = 0.70;
/// Share of the highest rate of the closed loop below which the search gives up, because no rate can meet the
/// objective.
const GIVE_UP_SHARE: f64 = 0.01;
/// Ratio of the overload rate to the larger of two rates: the lowest failed rate, and the highest rate of the closed
/// loop.
const OVERLOAD_FACTOR: f64 = 1.30;
/// Minimum number of measurements before the search trusts an interval of the capacity, even if it is narrow. With five
/// measurements, a search of ten seconds on a slow server gives a capacity that is 8 % too high on average. With five
/// measurements, the interval of the capacity is wide enough for an error of 8 % (`tests/known_capacity/budgets.rs`).
pub(super) const MIN_WINDOWS: usize = 5;
/// Number of windows (measurements) in a cycle of a search that uses overloads: one window at the capacity, and the
/// others beyond the capacity. Windows at the capacity are needed throughout the search. With only one such window per
/// search, 12 simulated searches were 5.7 % too high on average, and some had no interval (`long_limit_of_random_work`
/// in `tests/known_capacity/models.rs`).
const OVERLOAD_CYCLE: usize = 3;

/// State of the open-loop search for the highest rate that passes.
#[derive(Clone, Debug)]
pub struct RateSearch {
    best_closed: f64,
    precision: f64,
    next: f64,
    seen: usize,
    /// Highest rate that passed; `None` if no rate has passed.
    passed: Option<f64>,
    /// Lowest rate that failed; `None` if no rate has failed.
    failed: Option<f64>,
    done: bool,
}

impl RateSearch {
    /// Starts a search near the highest rate of the closed loop, or beyond it if throughput still grew with the
    /// clients. The search ends when half the width of the interval is at most `precision`, as a share of the capacity.
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

    /// Returns the rate to offer next; `None` if the interval is narrow enough or no rate can pass.
    pub fn next(&self) -> Option<f64> {
        let hopeless = self.passed.is_none() && self.next < self.best_closed * GIVE_UP_SHARE;
        (!self.done && !hopeless && self.next > 0.0 && self.next.is_finite()).then_some(self.next)
    }

    /// Records that the rate from [`RateSearch::next`] was offered. `windows` lists all measurements of the search so
    /// far, except those disturbed by other programs: the rate, and true if the limits were met. The search may learn
    /// of a disturbance only later, so every call counts all measurements again. `pooled` is the capacity estimated
    /// from all measurements, if known.
    pub fn record(&mut self, windows: &[(f64, bool)], pooled: Option<&Pooled>) {
        let rate = self.next;
        let rates = |passed: bool| windows.iter().filter(move |window| window.1 == passed).map(|window| window.0);
        self.seen = windows.len();
        (self.passed, self.failed) = (rates(true).reduce(f64::max), rates(false).reduce(f64::min));
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

    /// Returns true if nothing has been measured so far.
    pub fn is_unseen(&self) -> bool {
        self.seen == 0
    }

    /// Returns true if the search should measure another rate: no rate has failed yet, or the only measurement so far
    /// failed.
    pub fn needs_another_rate(&self) -> bool {
        self.failed.is_none() || self.passed.is_none() && self.seen == 1
    }

    fn follow(&mut self, pooled: &Pooled) -> f64 {
        // The results of a few overloads may agree by chance, so a search that uses overloads does not end early. In a
        // search that uses overloads, a window at the capacity does not improve the estimate, but shows the response
        // times at the capacity.
        let cycle = if pooled.of_overloads { OVERLOAD_CYCLE } else { 2 };
        self.done = !pooled.of_overloads && self.seen >= MIN_WINDOWS && pooled.estimate.precision() <= self.precision;
        if self.seen.is_multiple_of(cycle) { pooled.estimate.rate } else { pooled.beyond }
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
        search.record(&[(800.0, true)], None);
        assert_eq!(search.next(), Some(960.0));
        search.record(&[(800.0, true), (960.0, false)], None);
        let between = search.next().unwrap();
        assert!(between > 800.0 && between < 960.0, "{between}");
        assert!((search.overload() - 1300.0).abs() < 1e-9);
        let mut search = RateSearch::new(1000.0, 0.03, false);
        let mut windows = Vec::new();
        while let Some(rate) = search.next() {
            windows.push((rate, false));
            search.record(&windows, None);
        }
        assert!((10..20).contains(&windows.len()), "gives up after {}", windows.len());
    }

    /// The server completes 1,000/s, but the sweep only had time for one client (93/s).
    #[test]
    fn beyond_a_sweep_that_still_grew_the_rate_doubles() {
        let mut search = RateSearch::new(93.0, 0.03, true);
        let mut windows = Vec::new();
        while let Some(rate) = search.next().filter(|_| windows.len() < 4) {
            windows.push((rate, rate < 1000.0));
            search.record(&windows, None);
        }
        assert_eq!(windows.iter().map(|window| window.0).collect::<Vec<_>>(), [186.0, 372.0, 744.0, 1488.0]);
        let mut flat = RateSearch::new(1000.0, 0.03, false);
        let windows = [800.0, 960.0, 1152.0].map(|rate| (rate, true));
        (1..=3).for_each(|seen| flat.record(&windows[..seen], None));
        assert_eq!(flat.next(), Some(1152.0 * 2.0), "its closed loop was not the limit");
    }

    /// A rate failed while another program used the CPUs, which is known only after more windows.
    #[test]
    fn a_window_that_turns_out_to_be_spoiled_no_longer_limits_the_rates() {
        let mut search = RateSearch::new(5000.0, 0.03, false);
        search.record(&[(4000.0, true)], None);
        search.record(&[(4000.0, true), (4800.0, false)], None);
        assert!(search.next().is_some_and(|rate| rate < 4800.0));
        search.record(&[(4000.0, true), (4382.0, true)], None);
        assert!(search.next().is_some_and(|rate| rate > 5000.0) && search.needs_another_rate());
    }
}
