//! Trace contexts: which requests have one, and which of these requests are the slowest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;
use proto::Trace;
use run::{MAX_TRACES, TracedRequest};

/// Difference between the numbers of two consecutive traces. Because the difference is odd, all 2^64 numbers come
/// before a number is repeated.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Choice of the requests with a trace context.
#[derive(Debug)]
pub(crate) struct TraceChoice {
    share: f64,
    number: u64,
    rng: Rng,
}

impl TraceChoice {
    /// Creates the random choice of requests that carry a trace context: `share` of all requests.
    pub(crate) fn new(share: f64, seed: u64) -> Self {
        Self { share, number: Rng::new().u64(..), rng: Rng::with_seed(seed) }
    }

    /// Returns the trace context of the next request, or [`Trace::NONE`] for a request without one.
    #[inline]
    pub(crate) fn next(&mut self) -> Trace {
        if self.share <= 0.0 || self.rng.f64() >= self.share {
            return Trace::NONE;
        }
        self.number = self.number.wrapping_add(STEP);
        // The number 0 means that the request has no trace context. The number 0 comes only once in 2^64 numbers, which
        // does no harm.
        Trace::new(self.number)
    }
}

/// The slowest requests with a trace context in the measured window.
#[derive(Debug)]
pub(crate) struct SlowTraces(BinaryHeap<Reverse<(u64, Ended)>>);

/// End of a request with a trace context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ended {
    /// Time of the end, nanoseconds since the start of the load.
    pub(crate) at_ns: u64,
    number: (u128, u64),
    /// Status of the answer; `None` if the request failed.
    pub(crate) status: Option<u16>,
}

impl Ended {
    pub(crate) fn new(trace: Trace, at_ns: u64, status: Option<u16>) -> Self {
        Self { at_ns, number: trace.ids(), status }
    }
}

impl Default for SlowTraces {
    /// Creates the empty list, and allocates all of its memory.
    fn default() -> Self {
        Self(BinaryHeap::with_capacity(MAX_TRACES + 1))
    }
}

impl SlowTraces {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records a request that took `took_ns`, if the request is among the slowest so far.
    pub(crate) fn add(&mut self, took_ns: u64, ended: impl FnOnce() -> Ended) {
        let is_full = self.0.len() >= MAX_TRACES;
        if is_full && self.0.peek().is_some_and(|Reverse((fastest, _))| *fastest >= took_ns) {
            return;
        }
        if is_full {
            self.0.pop();
        }
        self.0.push(Reverse((took_ns, ended())));
    }

    /// Returns the requests, the slowest first.
    pub(crate) fn into_vec(self) -> Vec<TracedRequest> {
        self.0.into_sorted_vec().into_iter().map(|Reverse((took_ns, ended))| traced(took_ns, &ended)).collect()
    }
}

fn traced(took_ns: u64, ended: &Ended) -> TracedRequest {
    let (trace, span) = ended.number;
    let status = ended.status.filter(|status| *status > 0);
    TracedRequest {
        trace_id: format!("{trace:032x}"),
        span_id: format!("{span:016x}"),
        latency_us: took_ns as f64 / 1e3,
        ended_s: ended.at_ns as f64 / 1e9,
        status: status.map(|status| run::status_name(status).into_owned()),
        failed: ended.status.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_requests_gets_a_trace_and_no_trace_comes_twice() {
        let drawn = |share: f64| (0..10_000).scan(TraceChoice::new(share, 1), |choice, _| Some(choice.next()));
        let some = |share: f64| drawn(share).filter(|trace| trace.is_some()).count();
        assert_eq!((some(0.0), some(1.0)), (0, 10_000));
        assert!((900..1100).contains(&some(0.1)), "{}", some(0.1));
        let ids: std::collections::BTreeSet<_> = drawn(1.0).map(Trace::ids).collect();
        assert_eq!(ids.len(), 10_000);
        assert_ne!(drawn(1.0).next(), drawn(1.0).next(), "another run has other traces");
    }

    #[test]
    fn the_slowest_are_kept_in_order() {
        let mut slow = SlowTraces::default();
        for took in (1..=500_u64).chain(1..=200) {
            slow.add(took * 1000, || Ended::new(Trace::new(took), took, (took % 2 == 0).then_some(503)));
        }
        let all = slow.into_vec();
        assert_eq!((all.len(), all[0].latency_us, all[99].latency_us), (MAX_TRACES, 500.0, 401.0));
        assert_eq!((all[0].status.as_deref(), all[0].failed), (Some("503"), false));
        assert!(all[1].failed && all[1].status.is_none() && all[1].trace_id.len() == 32 && all[1].span_id.len() == 16);
    }
}
