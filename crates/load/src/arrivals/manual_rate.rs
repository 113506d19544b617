//! Changes of the rate that the user makes during the load. The arrival process itself stays unchanged, but its time
//! runs faster or slower than the clock.

use std::collections::VecDeque;

/// A change of the rate. After the change of the rate, the arrival process runs `factor` times as fast as planned.
#[derive(Clone, Copy, Debug)]
struct RateChange {
    /// Time of the change on the arrival process's own time scale, nanoseconds since the start.
    even_ns: f64,
    /// Time of the change on the clock, nanoseconds since the start.
    at_ns: f64,
    factor: f64,
}

/// Rate changes that may still affect due times.
#[derive(Clone, Debug)]
pub(super) struct ManualRate {
    /// Rate change that was in effect at the most recently converted due time.
    now: RateChange,
    /// Changes of the rate after `now`, sorted by time.
    ahead: VecDeque<RateChange>,
}

impl Default for ManualRate {
    fn default() -> Self {
        Self { now: RateChange { even_ns: 0.0, at_ns: 0.0, factor: 1.0 }, ahead: VecDeque::new() }
    }
}

impl ManualRate {
    /// Sets the rate to `factor` times the planned rate, from the clock time `now_ns` on.
    pub(super) fn change_rate(&mut self, now_ns: u64, factor: f64) {
        let last = self.ahead.back().copied().unwrap_or(self.now);
        let at_ns = (now_ns as f64).max(last.at_ns);
        let even_ns = last.even_ns + (at_ns - last.at_ns) * last.factor;
        self.ahead.push_back(RateChange { even_ns, at_ns, factor });
    }

    /// Converts the due time `even_ns` from the time scale of the arrival process to the clock's time scale. The due
    /// time and the returned time are in nanoseconds since the start of the load. From call to call, `even_ns` must not
    /// decrease.
    #[inline]
    pub(super) fn due_ns(&mut self, even_ns: f64) -> u64 {
        while let Some(next) = self.ahead.front().filter(|next| even_ns > next.even_ns) {
            self.now = *next;
            self.ahead.pop_front();
        }
        (self.now.at_ns + (even_ns - self.now.even_ns) / self.now.factor) as u64
    }
}

#[cfg(test)]
mod tests {
    use run::Arrival;

    use super::super::Arrivals;

    fn arrivals(arrival: &Arrival) -> Arrivals {
        Arrivals::new(arrival, 100.0, (0, 1), 0.0, 5)
    }

    #[test]
    fn a_changed_rate_applies_from_its_moment_on() {
        let mut due = arrivals(&Arrival::Constant);
        let mut times = vec![due.next_ns()];
        for (until_ns, factor) in [(1_000_000_000, 3.0), (2_000_000_000, 0.5), (6_000_000_000, 1.0)] {
            while times.last().is_some_and(|t| *t <= until_ns) {
                times.push(due.next_ns());
            }
            assert!(due.change_rate(until_ns, factor));
            *times.last_mut().unwrap() = due.latest_ns();
        }
        let between = |from: u64, to: u64| times.iter().filter(|t| (from..to).contains(*t)).count();
        for (from_s, to_s, n) in [(0, 1, 100_usize), (1, 2, 300), (2, 6, 200)] {
            let seen = between(from_s * 1_000_000_000, to_s * 1_000_000_000);
            assert!(seen.abs_diff(n) <= 1, "{seen} of {n} from {from_s} s to {to_s} s");
        }
        assert!(times.windows(2).all(|w| w[0] <= w[1]));
    }

    #[test]
    fn a_lagging_copy_gives_the_times_of_the_leading_one() {
        let (mut ahead, mut behind) = (arrivals(&Arrival::Poisson), arrivals(&Arrival::Poisson));
        let mut given: Vec<u64> = (0..300).map(|_| ahead.next_ns()).collect();
        let now_ns = given[298] + 1;
        assert!(ahead.change_rate(now_ns, 2.0));
        *given.last_mut().unwrap() = ahead.latest_ns();
        let mut seen: Vec<u64> = (0..50).map(|_| behind.next_ns()).collect();
        assert!(behind.change_rate(now_ns, 2.0));
        given.extend((0..300).map(|_| ahead.next_ns()));
        seen.extend((0..550).map(|_| behind.next_ns()));
        assert_eq!(given, seen);
        assert!(given.windows(2).all(|w| w[0] <= w[1]));
    }
}
