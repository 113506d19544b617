//! Compares the number of requests that a server handles at the same time with other counts, which may explain it. The
//! compared counts are the children of a master process, the threads with one name, and the connections to an upstream.
//! If a count equals the number of requests, the counted children, threads or connections are the server's workers. If
//! there are far more workers than requests, most workers wait for something else.

mod counts;
mod words;

use run::{Counted, CountedKind};

pub(crate) use words::{advice, advice_too_many, requests, text};

use counts::Counts;

use crate::Facts;
use crate::context::laws::service_us;
use crate::context::single::{clients, good, server_of};
use crate::context::view::View;
use crate::in_flight::delayed::delayed_answers;
use crate::network::ack_timer;
use crate::number::positive;
use crate::thresholds::{MANY_PLACES, NEARLY_FULL, PLACES_APART, REACHED, TRIP_SHARE};

/// Number of requests that the server handles at the same time, and the counts of workers or connections that may
/// explain it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Places {
    /// Number of requests that the server handles at a time: Xmax × R1 (highest rate times response time with one
    /// client). R1 is taken without the round trip to the server, because a request on the network occupies no worker.
    pub(crate) places: f64,
    /// All counts that may explain the number of requests in `places`, the best match first.
    counted: Counts,
}

impl Places {
    /// Returns the number of requests that the server handles at the same time, and the counts of workers or
    /// connections that may explain it. Returns `None` if even the lightest load used the full capacity of the server.
    /// Also returns `None` if R1 is not the service time, or consists mostly of round trips, waits for a TCP timer, or
    /// deliberate delays.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let r1 = service_us(facts)?;
        let (one, x_max) = (facts.unloaded?, facts.highest_rate()?);
        // If even the lightest step is saturated, Xmax × R1 is merely the number of clients in this step (Little's
        // law).
        if clients(one) > 1.0 && good(one) >= REACHED * x_max {
            return None;
        }
        if ack_timer::hides_service_time(facts) || delayed_answers(facts).is_some() {
            return None;
        }
        let way = server_of(one).and_then(|v| v.value("connection.min_rtt")).filter(|us| *us > 0.0).unwrap_or(0.0);
        if way > TRIP_SHARE * r1 {
            return None;
        }
        let places = positive(x_max * (r1 - way) / 1e6)?;
        let view = facts.crowded_server()?;
        let mut counted = counts::of(facts, &view, server_of(one));
        counted.retain(|(depth, one)| !(equals(one, places) && passes_all_on(&view, *depth, one.count)));
        counted.sort_by(|(_, a), (_, b)| (a.count - places).abs().total_cmp(&(b.count - places).abs()));
        Some(Self { places, counted })
    }

    /// Returns the counts that equal the number of requests handled at a time, within the error of both measurements.
    pub(crate) fn matching(&self) -> impl Iterator<Item = &Counted> {
        self.counted.iter().map(|(_, counted)| counted).filter(|one| equals(one, self.places))
    }

    /// Returns the group of workers furthest from the client, among groups far larger than the number of requests
    /// handled at a time. In a group with far more workers than requests, most workers wait for something outside the
    /// group. Returns `None` if any count equals the number of requests handled at a time.
    pub(crate) fn too_many(&self) -> Option<&Counted> {
        let workers = self.counted.iter().filter(|(_, c)| !is_connections(c) && c.count >= MANY_PLACES * self.places);
        let last = workers.max_by(|(a, one), (b, other)| a.cmp(b).then(other.count.total_cmp(&one.count)));
        last.map(|(_, counted)| counted).filter(|_| self.matching().next().is_none())
    }
}

/// Returns true if a count equals the number of requests handled at a time, within the error of both measurements.
fn equals(counted: &Counted, places: f64) -> bool {
    (counted.count - places).abs() <= PLACES_APART * counted.count
}

/// Returns true if `count` workers at the distance `depth` from the server pass nearly all requests on, more than one
/// per worker at a time. No request waits for a worker that passes requests on, so each worker handles many requests at
/// a time. Proxies such as nginx with a few workers pass all requests on.
fn passes_all_on(view: &View<'_>, depth: u32, count: f64) -> bool {
    let awaited = |b: &run::Upstream| view.side.recording.reading("behind.busy", &b.address, view.window).value();
    let next = view.side.behind.iter().filter(|b| b.depth == depth + 1);
    let passed_on: f64 = next.filter_map(awaited).sum();
    let in_flight = positive(view.trial.rates.concurrency).unwrap_or_else(|| clients(view.trial));
    passed_on > (1.0 + PLACES_APART) * count && passed_on >= NEARLY_FULL * in_flight
}

/// Returns true for a count of connections.
pub(crate) fn is_connections(counted: &Counted) -> bool {
    counted.what == CountedKind::Connections
}

/// Returns true for a count of child processes.
pub(crate) fn is_children(counted: &Counted) -> bool {
    counted.what == CountedKind::Children
}

/// Returns true for a count of threads. A thread that ran need not be a worker, so a count of threads alone shows no
/// queue.
pub(crate) fn is_threads(counted: &Counted) -> bool {
    counted.what == CountedKind::Threads
}

/// Returns true for a count of threads or connections that hold one request each, if samples showed more requests
/// waiting in the process.
pub(crate) fn is_seen_before_a_queue(counted: &Counted) -> bool {
    matches!(counted.what, CountedKind::BlockedThreads | CountedKind::BusyConnections)
}

#[cfg(test)]
mod tests;
