//! Where the next window of the open-loop search tells most. Pure.
//!
//! Before anything broke the objective it climbs, before anything held it goes down. From then on the estimate of all windows
//! leads: in turns the capacity itself, and a rate past it at which enough requests are late for a short window to have some.
//! So no window decides, and one that a disturbance spoiled is outvoted.

use judge::Pooled;

/// First rate tried, as a share of the highest rate of the closed loop: near the answer, below the cliff.
const FIRST: f64 = 0.80;
/// Upward step while everything holds.
const UP: f64 = 1.20;
/// Downward step while nothing holds.
const DOWN: f64 = 0.70;
/// Below this share of the closed loop's best rate the search gives up: the goal cannot be held at all.
const GIVE_UP: f64 = 0.01;
/// The overload step past the highest rate that was tried and failed.
const OVERLOAD: f64 = 1.30;
/// Windows below which no interval is believed, however narrow.
const FEWEST: usize = 5;

/// The state of a search.
#[derive(Clone, Debug)]
pub struct Aim {
    full: f64,
    precision: f64,
    next: f64,
    seen: usize,
    /// Highest rate that held, and lowest that failed.
    held: Option<f64>,
    failed: Option<f64>,
    done: bool,
}

impl Aim {
    /// A search that starts from the closed loop's best rate and ends at this half interval, as a share of the capacity.
    pub fn new(full: f64, precision: f64) -> Self {
        Self { full, precision, next: full * FIRST, seen: 0, held: None, failed: None, done: false }
    }

    /// The rate to offer now; `None` when the interval is narrow or nothing can be held.
    pub fn next(&self) -> Option<f64> {
        let hopeless = self.held.is_none() && self.next < self.full * GIVE_UP;
        (!self.done && !hopeless && self.next > 0.0 && self.next.is_finite()).then_some(self.next)
    }

    /// Takes what the step that [`Aim::next`] asked for showed, and what all windows come to.
    pub fn saw(&mut self, held: bool, pooled: Option<&Pooled>) {
        let rate = self.next;
        self.seen += 1;
        match held {
            true => self.held = Some(self.held.map_or(rate, |h| h.max(rate))),
            false => self.failed = Some(self.failed.map_or(rate, |f| f.min(rate))),
        }
        self.next = match (self.held, self.failed, pooled) {
            (None, _, _) => rate * DOWN,
            (Some(top), None, _) => top * UP,
            (Some(held), Some(failed), None) => (held * failed).sqrt(),
            (Some(held), Some(_), Some(pooled)) => self.by(pooled).clamp(held * DOWN, held * UP),
        };
    }

    fn by(&mut self, pooled: &Pooled) -> f64 {
        self.done = self.seen >= FEWEST && pooled.estimate.precision() <= self.precision;
        if self.seen.is_multiple_of(2) { pooled.estimate.rate } else { pooled.estimate.beyond(&pooled.asked) }
    }

    /// The rate to offer once to show what overload does.
    pub fn overload(&self) -> f64 {
        self.failed.or(self.held.map(|h| h * UP)).unwrap_or(self.full).max(self.full) * OVERLOAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbs_while_all_holds_and_goes_down_while_nothing_does() {
        let mut aim = Aim::new(1000.0, 0.03);
        assert_eq!(aim.next(), Some(800.0));
        aim.saw(true, None);
        assert_eq!(aim.next(), Some(960.0));
        aim.saw(false, None);
        let between = aim.next().unwrap();
        assert!(between > 800.0 && between < 960.0, "{between}");
        assert!((aim.overload() - 1300.0).abs() < 1e-9);
        let mut aim = Aim::new(1000.0, 0.03);
        let mut steps = 0;
        while aim.next().is_some() {
            aim.saw(false, None);
            steps += 1;
        }
        assert!((10..20).contains(&steps), "gives up after {steps}");
    }
}
