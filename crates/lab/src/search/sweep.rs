//! The closed-loop sweep: 1, 2, 4, … clients until more clients bring no more throughput.

/// Flat steps in a row that end the sweep: one can be noise.
const FLAT_STEPS: u32 = 2;

/// The state of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    next: u32,
    most: u32,
    best: f64,
    flat: u32,
    ended: Option<&'static str>,
}

impl Sweep {
    /// A sweep up to `most` clients.
    pub fn new(most: u32) -> Self {
        Self { next: 1, most: most.max(1), best: 0.0, flat: 0, ended: None }
    }

    /// The number of clients to try now; `None` when the sweep is over.
    pub fn next(&self) -> Option<u32> {
        if self.ended.is_some() { None } else { Some(self.next) }
    }

    /// Takes the completed rate of the step that [`Sweep::next`] asked for.
    pub fn saw(&mut self, completed_rate: f64) {
        self.flat = if completed_rate < self.best * (1.0 + judge::FLAT) { self.flat + 1 } else { 0 };
        self.best = self.best.max(completed_rate);
        if self.best <= 0.0 {
            self.ended = Some("nothing came back");
        } else if self.flat >= FLAT_STEPS {
            self.ended = Some("twice the clients brought less than 5 % more, two times in a row");
        } else if self.next >= self.most {
            self.ended = Some("the largest number of clients was reached while throughput still grew");
        } else {
            self.next = (self.next.saturating_mul(2)).min(self.most);
        }
    }

    /// Ends it for a reason of the caller (time is up, interrupted).
    pub fn end(&mut self, why: &'static str) {
        self.ended.get_or_insert(why);
    }

    /// Highest completed rate so far: Xmax.
    pub fn best(&self) -> f64 {
        self.best
    }

    /// Why it ended.
    pub fn ended(&self) -> Option<&'static str> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Throughput of a server with one bottleneck: min(N / R1, Xmax).
    fn sweep(r1_s: f64, x_max: f64, most: u32) -> (Vec<u32>, Sweep) {
        let mut sweep = Sweep::new(most);
        let mut tried = Vec::new();
        while let Some(n) = sweep.next() {
            tried.push(n);
            sweep.saw((f64::from(n) / r1_s).min(x_max));
        }
        (tried, sweep)
    }

    #[test]
    fn stops_two_steps_after_the_knee() {
        let (tried, done) = sweep(0.001, 16_000.0, 1024);
        assert_eq!(tried, [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(done.best(), 16_000.0);
    }

    #[test]
    fn four_workers_that_sleep_are_seen_through() {
        let (tried, done) = sweep(0.020, 200.0, 1024);
        assert_eq!((tried, done.best()), (vec![1, 2, 4, 8, 16], 200.0));
    }

    #[test]
    fn one_flat_step_is_not_the_end() {
        let mut sweep = Sweep::new(1024);
        for rate in [100.0, 101.0, 390.0, 800.0, 810.0, 790.0] {
            assert!(sweep.next().is_some());
            sweep.saw(rate);
        }
        assert_eq!((sweep.next(), sweep.best()), (None, 810.0));
    }

    #[test]
    fn ends_at_the_limit_and_at_silence() {
        let (tried, done) = sweep(1.0, 1e9, 5);
        assert_eq!(tried, [1, 2, 4, 5]);
        assert!(done.ended().is_some_and(|why| why.contains("still grew")));
        assert_eq!(sweep(1.0, 0.0, 64).0, [1]);
    }
}
