//! Estimates the number of connections that the pool of an open loop needs: the recent arrival rate times the recent
//! response time (Little's law). Arrival rate and response time are measured in consecutive short windows. If the
//! server pauses, many requests wait. A new connection for each waiting request would be a storm of connects that the
//! generator itself causes. New connections are not needed: after the server's pause, all waiting requests can be sent
//! on the existing connections.

/// Number of connections that a pool may always have, because response times are unknown at first.
pub(super) const MIN_ALLOWED: u64 = 128;
/// Ratio of the allowed number of connections to the average number needed. The ratio is above 1 because arrivals and
/// response times vary.
const MARGIN: f64 = 2.0;
/// Maximum factor by which the allowed number of connections grows from window to window. After a single pause of the
/// server, late answers affect one or two windows. A server that is always slow delays answers in all windows.
const MAX_GROWTH_PER_WINDOW: u64 = 4;
/// Minimum length of a window, nanoseconds.
const MIN_WINDOW_NS: u64 = 20_000_000;

/// Estimate of the number of connections that one pool needs.
pub(super) struct PoolDemand {
    /// Planned mean rate, requests per nanosecond. The estimate uses at least this rate, because a short window may
    /// have few arrivals by chance.
    planned: f64,
    /// Number of requests that may be in flight on one connection.
    depth: f64,
    since_ns: u64,
    arrivals: u64,
    answers: u64,
    took_ns: u64,
    allowed: u64,
    /// Largest number of unneeded connections at the end of any window so far.
    largest_unneeded: u64,
}

impl PoolDemand {
    /// Creates an estimate without observations. `rate` is the planned rate per second. `depth` is the number of
    /// requests that may be in flight on a connection. `origin_ns` is the start of the load.
    pub(super) fn new(rate: f64, depth: usize, origin_ns: u64) -> Self {
        let planned = rate / 1e9;
        Self {
            planned,
            depth: depth.max(1) as f64,
            since_ns: origin_ns,
            arrivals: 0,
            answers: 0,
            took_ns: 0,
            allowed: MIN_ALLOWED,
            largest_unneeded: 0,
        }
    }

    /// Sets the start of the load to `origin_ns`.
    pub(super) fn begin_at(&mut self, origin_ns: u64) {
        self.since_ns = origin_ns;
    }

    /// Sets the planned rate to `rate` requests per second.
    pub(super) fn plan(&mut self, rate: f64) {
        self.planned = rate / 1e9;
    }

    /// Counts a due request.
    pub(super) fn arrived(&mut self) {
        self.arrivals += 1;
    }

    /// Records an answer that came `took_ns` after its request was sent, while the pool has `open` connections. A
    /// window ends when its minimum length has passed and at least as many answers have come as there are connections.
    /// If the pool has more unneeded connections at the end of a window than in any earlier window, returns the
    /// difference. In all other cases, returns 0.
    pub(super) fn answered(&mut self, now_ns: u64, took_ns: u64, open: u64) -> u64 {
        self.answers += 1;
        self.took_ns += took_ns;
        let window_ns = now_ns.saturating_sub(self.since_ns);
        if window_ns < MIN_WINDOW_NS || self.answers < open {
            return 0;
        }
        let rate = self.planned.max(self.arrivals as f64 / window_ns as f64);
        let needed = (MARGIN * rate * self.took_ns as f64 / self.answers as f64 / self.depth).ceil() as u64;
        self.allowed = needed.clamp(MIN_ALLOWED, MAX_GROWTH_PER_WINDOW * self.allowed);
        (self.since_ns, self.arrivals, self.answers, self.took_ns) = (now_ns, 0, 0, 0);
        let more = open.saturating_sub(needed.max(MIN_ALLOWED)).saturating_sub(self.largest_unneeded);
        self.largest_unneeded += more;
        more
    }

    /// Returns true if a pool with `open` connections may open another one.
    pub(super) fn allows(&self, open: u64) -> bool {
        open < self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_server_raises_the_allowance_until_it_suffices_and_a_fast_one_takes_it_back() {
        let mut demand = PoolDemand::new(3000.0, 1, 0);
        let allowed: Vec<u64> = (1..=4)
            .map(|second| {
                (0..1000).for_each(|_| assert_eq!(demand.answered(second * 1_000_000_000, 400_000_000, 1000), 0));
                demand.allowed
            })
            .collect();
        // The allowed number of connections grows up to 2 × 3000 per second × 0.4 s = 2400.
        assert_eq!(allowed, [512, 2048, 2400, 2400]);
        let largest_unneeded: u64 = (0..1000).map(|_| demand.answered(5_000_000_000, 1_000_000, 1000)).sum();
        assert!(demand.allows(MIN_ALLOWED - 1) && !demand.allows(MIN_ALLOWED));
        assert_eq!(largest_unneeded, 1000 - MIN_ALLOWED, "the pool of the slow answers is too large for the fast ones");
        let later: u64 = (0..1000).map(|_| demand.answered(6_000_000_000, 1_000_000, 1000)).sum();
        assert_eq!(later, 0, "they are counted once");
    }

    #[test]
    fn a_burst_of_arrivals_counts_as_what_it_is() {
        let mut demand = PoolDemand::new(100.0, 1, 0);
        (0..2000).for_each(|_| demand.arrived());
        (0..100).for_each(|_| assert_eq!(demand.answered(1_000_000_000, 50_000_000, 100), 0));
        // The allowed number of connections is 2 × 2000 per second × 50 ms = 200, although the planned rate is 100 per
        // second.
        assert_eq!(demand.allowed, 200);
    }
}
