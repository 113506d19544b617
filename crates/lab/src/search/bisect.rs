//! The open-loop search: the highest offered rate that holds the goal, by bracketing and halving.
//!
//! It starts below the closed loop's best rate, goes up in growing steps while the goal holds and down while it does
//! not, and then halves the bracket until it is narrow or the caller has no time left. The rate that closes the bracket
//! from above is tried once more before it is believed, since one disturbance of the machine looks like a failure.

use super::Seen;

/// First rate tried, as a share of the highest rate of the closed loop: near the answer, below the cliff.
const FIRST: f64 = 0.80;
/// Upward step of the bracketing.
const UP: f64 = 1.20;
/// Downward step of the bracketing.
const DOWN: f64 = 0.70;
/// The bracket is narrow when its ends differ by less than this.
const NARROW: f64 = 1.04;
/// Below this share of the closed loop's best rate the search gives up: the goal cannot be held at all.
const GIVE_UP: f64 = 0.01;
/// The overload step past the lowest rate that failed.
const OVERLOAD: f64 = 1.30;

/// The state of a search.
#[derive(Clone, Debug)]
pub struct Bisect {
    first: f64,
    next: f64,
    held: Option<Seen>,
    failed: Option<f64>,
    believed: bool,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The best point that held.
    pub held: Option<Seen>,
    /// The lowest offered rate that failed.
    pub failed_at: Option<f64>,
    /// The rate to offer once to show what overload does.
    pub overload: f64,
}

impl Bisect {
    /// A search that starts from the closed loop's best rate.
    pub fn new(closed_best: f64) -> Self {
        Self { first: closed_best, next: closed_best * FIRST, held: None, failed: None, believed: false }
    }

    /// The rate to offer now; `None` when the bracket is narrow or nothing can be held.
    pub fn next(&self) -> Option<f64> {
        let done = self.narrow() && self.believed;
        let hopeless = self.held.is_none() && self.next < self.first * GIVE_UP;
        (!done && !hopeless && self.next > 0.0 && self.next.is_finite()).then_some(self.next)
    }

    /// Takes what the step that [`Bisect::next`] asked for showed.
    pub fn saw(&mut self, seen: &Seen) {
        if seen.held {
            let better = self.held.is_none_or(|h| seen.offered_rate > h.offered_rate);
            self.held = if better { Some(*seen) } else { self.held };
            // A rate that holds above one that failed shows that the failure was a disturbance.
            self.failed = self.failed.filter(|f| *f > seen.offered_rate);
        } else {
            self.believed = self.failed.is_some_and(|f| f <= seen.offered_rate);
            self.failed = Some(self.failed.map_or(seen.offered_rate, |f| f.min(seen.offered_rate)));
        }
        self.next = match (self.held, self.failed) {
            (Some(_), Some(failed)) if self.narrow() => failed,
            (Some(held), Some(failed)) => (held.offered_rate * failed).sqrt(),
            (Some(held), None) => held.offered_rate * UP,
            (None, Some(failed)) => failed * DOWN,
            (None, None) => self.next,
        };
    }

    /// What is known so far.
    pub fn outcome(&self) -> Outcome {
        let top = self.failed.or(self.held.map(|h| h.offered_rate * UP)).unwrap_or(self.first);
        Outcome { held: self.held, failed_at: self.failed, overload: top.max(self.first) * OVERLOAD }
    }

    fn narrow(&self) -> bool {
        self.held.zip(self.failed).is_some_and(|(held, failed)| failed / held.offered_rate <= NARROW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An M/M/1 server: response time grows as 1/(mu - lambda), its 99th percentile is 4.6 times the mean.
    fn server(offered: f64, capacity: f64, limit_us: f64) -> Seen {
        let p99_us = if offered >= capacity { 1e6 } else { 4.6e6 / (capacity - offered) };
        Seen { offered_rate: offered, completed_rate: offered.min(capacity), held: p99_us <= limit_us }
    }

    fn search(closed_best: f64, server: impl Fn(f64) -> Seen) -> (usize, Outcome) {
        let mut bisect = Bisect::new(closed_best);
        let mut steps = 0;
        while let Some(rate) = bisect.next() {
            steps += 1;
            assert!(steps < 40, "endless search");
            bisect.saw(&server(rate));
        }
        (steps, bisect.outcome())
    }

    #[test]
    fn finds_the_rate_where_the_percentile_breaks() {
        let (steps, found) = search(10_000.0, |rate| server(rate, 10_000.0, 10_000.0));
        let exact = 10_000.0 - 460.0;
        let held = found.held.unwrap();
        assert!(held.completed_rate <= exact && held.completed_rate > exact / NARROW, "{found:?}");
        assert!(found.failed_at.unwrap() > exact && steps <= 9, "{steps} steps, {found:?}");
        assert!(found.overload > 10_000.0);
    }

    #[test]
    fn climbs_when_the_closed_loop_was_too_small() {
        let (_, found) = search(1_000.0, |rate| server(rate, 10_000.0, 10_000.0));
        assert!(found.held.unwrap().completed_rate > 9_000.0, "{found:?}");
    }

    #[test]
    fn gives_up_when_nothing_holds() {
        let (steps, found) = search(1_000.0, |rate| server(rate, 1_000.0, 1.0));
        assert!(found.held.is_none() && steps < 20, "{steps} {found:?}");
    }

    #[test]
    fn a_disturbed_step_does_not_end_it_low() {
        let calls = std::cell::Cell::new(0);
        let (_, found) = search(10_000.0, |rate| {
            calls.set(calls.get() + 1);
            let seen = server(rate, 10_000.0, 10_000.0);
            Seen { held: seen.held && calls.get() != 1, ..seen }
        });
        assert!(found.held.unwrap().completed_rate > 9_000.0, "{found:?}");
    }
}
