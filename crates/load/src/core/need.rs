//! How many connections the pool of an open loop needs: the rate of arrivals times the time that an answer takes (Little's
//! law), as both were lately seen. A server that pauses leaves many requests waiting, and a connection for each would
//! push it into a storm of connects that is the generator's own; the connections that it has carry them all afterwards.

/// Connections that a pool may always have: what an answer takes is not known before there were some.
pub(super) const LEAST: u64 = 128;
/// Arrivals and answers vary, so a pool may have this many times the mean that they need.
const MARGIN: f64 = 2.0;
/// A window may not raise the allowance by more than this factor: the answers of one pause fall into one or two windows,
/// those of a slow server into all.
const GROWTH: u64 = 4;
/// Shortest time that is looked at as one.
const WINDOW_NS: u64 = 20_000_000;

/// The need of one pool.
pub(super) struct Need {
    /// Mean rate of the plan, per nanosecond: an arrival process may be at rest in a window.
    planned: f64,
    since_ns: u64,
    arrivals: u64,
    answers: u64,
    took_ns: u64,
    allowed: u64,
    /// Most connections that the pool had at the end of a window that did not need them.
    past: u64,
}

impl Need {
    /// Nothing seen yet; `rate` is what the plan asks for, per second, from `origin_ns` on.
    pub(super) fn new(rate: f64, origin_ns: u64) -> Self {
        let planned = rate / 1e9;
        Self { planned, since_ns: origin_ns, arrivals: 0, answers: 0, took_ns: 0, allowed: LEAST, past: 0 }
    }

    /// Time counts from this moment.
    pub(super) fn begin_at(&mut self, origin_ns: u64) {
        self.since_ns = origin_ns;
    }

    /// The plan asks for another rate from now on, per second.
    pub(super) fn plan(&mut self, rate: f64) {
        self.planned = rate / 1e9;
    }

    /// A request is due.
    pub(super) fn arrived(&mut self) {
        self.arrivals += 1;
    }

    /// An answer came `took_ns` after its request was sent; the pool has `open` connections. A window ends when each of
    /// them could have answered once. Returns how many more of them turned out not to be needed than before.
    pub(super) fn answered(&mut self, now_ns: u64, took_ns: u64, open: u64) -> u64 {
        self.answers += 1;
        self.took_ns += took_ns;
        let window_ns = now_ns.saturating_sub(self.since_ns);
        if window_ns < WINDOW_NS || self.answers < open {
            return 0;
        }
        let rate = self.planned.max(self.arrivals as f64 / window_ns as f64);
        let needed = (MARGIN * rate * self.took_ns as f64 / self.answers as f64).ceil() as u64;
        self.allowed = needed.clamp(LEAST, GROWTH * self.allowed);
        (self.since_ns, self.arrivals, self.answers, self.took_ns) = (now_ns, 0, 0, 0);
        let more = open.saturating_sub(needed.max(LEAST)).saturating_sub(self.past);
        self.past += more;
        more
    }

    /// Whether a pool of `open` connections may have one more.
    pub(super) fn allows(&self, open: u64) -> bool {
        open < self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_server_raises_the_allowance_until_it_suffices_and_a_fast_one_takes_it_back() {
        let mut need = Need::new(3000.0, 0);
        let allowed: Vec<u64> = (1..=4)
            .map(|second| {
                (0..1000).for_each(|_| assert_eq!(need.answered(second * 1_000_000_000, 400_000_000, 1000), 0));
                need.allowed
            })
            .collect();
        // 2 x 3000/s x 0.4 s
        assert_eq!(allowed, [512, 2048, 2400, 2400]);
        let past: u64 = (0..1000).map(|_| need.answered(5_000_000_000, 1_000_000, 1000)).sum();
        assert!(need.allows(LEAST - 1) && !need.allows(LEAST));
        assert_eq!(past, 1000 - LEAST, "the pool of the slow answers is too large for the fast ones");
        let again: u64 = (0..1000).map(|_| need.answered(6_000_000_000, 1_000_000, 1000)).sum();
        assert_eq!(again, 0, "they are counted once");
    }

    #[test]
    fn a_burst_of_arrivals_counts_as_what_it_is() {
        let mut need = Need::new(100.0, 0);
        (0..2000).for_each(|_| need.arrived());
        (0..100).for_each(|_| assert_eq!(need.answered(1_000_000_000, 50_000_000, 100), 0));
        // 2 x 2000/s x 50 ms, not 2 x 100/s x 50 ms
        assert_eq!(need.allowed, 200);
    }
}
