//! Counters of a server. Each thread writes its counters in separate cache lines, and readers add up the counters of
//! all threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::connection::End;
use crate::strategies::LimitHit;

/// Counters of a server since its start. A field about a present state, such as open connections, contains the present
/// number, not a total since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    /// Number of serving threads now.
    pub threads: u64,
    /// Maximum number of serving threads at the same time.
    pub threads_peak: u64,
    /// Number of connections taken from the accept queue.
    pub accepted: u64,
    /// Number of connections that are open now.
    pub connections: u64,
    /// Maximum number of connections open at the same time: the sum of the maxima of all threads.
    pub connections_peak: u64,
    /// Number of bytes read from sockets.
    pub bytes_in: u64,
    /// Number of bytes written to sockets.
    pub bytes_out: u64,
    /// Number of completed requests.
    pub requests: u64,
    /// Number of connections that ended with a socket error, which is mostly a reset.
    pub resets: u64,
    /// Number of connections closed because the peer violated the protocol.
    pub faults: u64,
    /// Number of times that accepting paused because descriptors or memory had run out.
    pub accept_paused: u64,
    /// Number of connections refused because the server was busy, for example by the strategy `high-throughput`.
    pub refused: u64,
    /// Number of connections closed because the peer did not read its answers (strategy `limits`).
    pub closed_unread: u64,
    /// Number of connections closed because the peer was silent (strategy `limits`).
    pub closed_silent: u64,
    /// Number of connections closed because the head of a request took too long.
    #[serde(default)]
    pub closed_slow: u64,
    /// Number of measured calls of the event API that returned events. Only the proxy with the option `timed` measures
    /// calls.
    pub calls: u64,
    /// Number of events that the calls counted in `calls` returned.
    pub call_events: u64,
    /// Median duration of a thread's last 128 measured calls, nanoseconds, summed over all threads.
    pub call_median_ns: u64,
    /// Number of records read from the page cache (service `record`).
    pub cache_hits: u64,
    /// Number of records that were at least partly read from the disk (service `record`).
    pub disk_reads: u64,
    /// Number of reads above 4096 bytes that got a large buffer (service `record`).
    pub large_reads: u64,
    /// Number of reads above 4096 bytes that were refused, because no large buffer was free (service `record`).
    pub large_refused: u64,
    /// Addresses of the last peers whose connections were closed because of a limit, each with the reason.
    pub closed_peers: Vec<String>,
}

/// Counters of one thread. Only one thread writes these counters, except in models whose threads share connections.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Cell {
    pub(crate) accepted: Counter,
    pub(crate) connections: Counter,
    pub(crate) connections_peak: Counter,
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
    pub(crate) requests: Counter,
    pub(crate) resets: Counter,
    pub(crate) faults: Counter,
    pub(crate) accept_paused: Counter,
    pub(crate) refused: Counter,
    pub(crate) closed_unread: Counter,
    pub(crate) closed_silent: Counter,
    pub(crate) closed_slow: Counter,
    pub(crate) calls: Counter,
    pub(crate) call_events: Counter,
    pub(crate) call_median_ns: Counter,
}

/// Counter that only one thread writes, so it needs no atomic read-modify-write instruction.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Sets a current value, such as the number of open connections.
    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    /// Adds `n` to a counter that several threads change at the same time. This function is for server models whose
    /// threads share connections.
    pub(crate) fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Cell {
    /// Counts a connection that was opened.
    pub(crate) fn opened(&self) {
        self.accepted.add(1);
        self.connections.add(1);
        let now = self.connections.get();
        if now > self.connections_peak.get() {
            self.connections_peak.0.store(now, Relaxed);
        }
    }

    /// Counts a connection that has ended.
    pub(crate) fn closed(&self, end: End) {
        self.connections.add(u64::MAX);
        self.end_counter(end).into_iter().for_each(|counter| counter.add(1));
    }

    /// Returns the counter for connections that end for the reason `end`; `None` for a normal end.
    fn end_counter(&self, end: End) -> Option<&Counter> {
        match end {
            End::Done => None,
            End::Reset => Some(&self.resets),
            End::Fault => Some(&self.faults),
        }
    }

    /// Returns the counter for connections that are closed because of the limit `hit`.
    pub(crate) fn limit_counter(&self, hit: LimitHit) -> &Counter {
        match hit {
            LimitHit::Unread => &self.closed_unread,
            LimitHit::Silent => &self.closed_silent,
            LimitHit::SlowHead => &self.closed_slow,
        }
    }

    /// Counts a connection that was opened. Several threads may call this method.
    pub(crate) fn opened_shared(&self) {
        self.accepted.add_shared(1);
        let now = self.connections.0.fetch_add(1, Relaxed) + 1;
        self.connections_peak.0.fetch_max(now, Relaxed);
    }

    /// Counts a connection that has ended. Several threads may call this method.
    pub(crate) fn closed_shared(&self, end: End) {
        self.connections.0.fetch_sub(1, Relaxed);
        self.end_counter(end).into_iter().for_each(|counter| counter.add_shared(1));
    }

    /// Adds this thread's counts to `stats`.
    pub(crate) fn add_to(&self, stats: &mut Stats) {
        for (sum, counter) in [
            (&mut stats.accepted, &self.accepted),
            (&mut stats.connections, &self.connections),
            (&mut stats.connections_peak, &self.connections_peak),
            (&mut stats.bytes_in, &self.bytes_in),
            (&mut stats.bytes_out, &self.bytes_out),
            (&mut stats.requests, &self.requests),
            (&mut stats.resets, &self.resets),
            (&mut stats.faults, &self.faults),
            (&mut stats.accept_paused, &self.accept_paused),
            (&mut stats.refused, &self.refused),
            (&mut stats.closed_unread, &self.closed_unread),
            (&mut stats.closed_silent, &self.closed_silent),
            (&mut stats.closed_slow, &self.closed_slow),
            (&mut stats.calls, &self.calls),
            (&mut stats.call_events, &self.call_events),
            (&mut stats.call_median_ns, &self.call_median_ns),
        ] {
            *sum += counter.get();
        }
    }
}
