//! Counts of requests and connections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::errors::Errors;
use crate::skip_empty;

/// Exact counts of a trial. No count in a tally is an estimate from samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tally {
    /// Number of connection attempts: connect() calls.
    pub attempted: u64,
    /// Number of established connections.
    pub connected: u64,
    /// Number of requests that were sent completely.
    pub sent: u64,
    /// Number of complete and well-formed responses, of any status.
    pub completed: u64,
    /// Number of responses among `completed` with an unexpected status: 4xx, 5xx, or any gRPC status other than OK,
    /// unless the user expects that status.
    pub unexpected_status: u64,
    /// Numbers of responses among `unexpected_status`, by status: `404`, `429`, or gRPC names. Each generator thread
    /// lists at most 16 statuses.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unexpected_statuses: BTreeMap<String, u64>,
    /// Numbers of responses by status class: `1xx` to `5xx`, or gRPC names (`OK`, `UNAVAILABLE`, …).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<String, u64>,
    /// Number of failures of each kind.
    pub errors: Errors,
    /// Number of requests that were due according to the plan. The number of due requests equals `sent` unless the
    /// generator fell behind, or connections failed.
    pub due: u64,
    /// Number of requests without a response when the drain ended.
    pub unanswered: u64,
    /// Number of connections that the client considered established but that never got a response. SYN cookies on the
    /// server are one possible cause of connections that never get a response.
    pub phantom: u64,
    /// Number of idle connections that the server closed.
    pub closed_by_server: u64,
    /// Number of connections that the server asked the client to close (`Connection: close`, GOAWAY). After a close by
    /// the client, the TIME_WAIT state is on the client's host.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub closes_left_to_client: u64,
    /// Number of connections that the server closed just as the client sent requests on them, after an idle time or
    /// after some number of answers. On connections closed in this way, `resent` counts the idempotent requests; all
    /// other requests are failures.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub keep_alive_races: u64,
    /// Number of connections that the server ended while they had requests without any byte of an answer.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub lost_connections: u64,
    /// Number of answers that arrived on the connections in `lost_connections`, summed over these connections.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub answers_before_loss: u64,
    /// Sum of the squares of the numbers of answers per connection, over the connections in `lost_connections`. For an
    /// equal mean, this sum is smaller if every connection gets the same number of answers than if the numbers are
    /// random.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub answers_before_loss_squared: u64,
    /// Number of payload and header bytes written to sockets.
    pub bytes_sent: u64,
    /// Number of bytes read from sockets.
    pub bytes_received: u64,
    /// Number of bytes of responses among `bytes_received`, without TLS and framing (HTTP/2: bodies only). Received
    /// bytes that `answer_bytes` does not include are overhead.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub answer_bytes: u64,
    /// Number of times that the generator opened no connection although open-loop requests waited. The generator opens
    /// no connection if many connects are already in progress, or if the pool is large enough by Little's law. Opening
    /// a connection for each waiting request would flood the server with connects.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub connects_held_back: u64,
    /// Number of connections in an open loop's pool that later turned out to be unnecessary.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub connects_past_need: u64,
    /// Number of requests that the server left unprocessed when it closed a connection. In HTTP/2, unprocessed requests
    /// are those after the last stream that a GOAWAY names. In HTTP/1, unprocessed requests were pipelined after an
    /// answer with `Connection: close`. The client sent each unprocessed request again on another connection, with its
    /// original intended start. `sent` counts a request that was sent again only once.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unprocessed: u64,
    /// Number of requests that the client sent again after a close that `keep_alive_races` counts, with their original
    /// intended start. `sent` counts a request that was sent again only once.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub resent: u64,
    /// Number of commands that a node of a Redis cluster redirected permanently (MOVED). The client sent the redirected
    /// commands again.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub moved: u64,
    /// Number of commands that a node of a Redis cluster redirected once (ASK). The client sent the redirected commands
    /// again.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub asked: u64,
    /// Number of requests that the client started with a trace context.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub traced: u64,
    /// Number of messages that the server sent without a request: Redis pushes, WebSocket messages without the expected
    /// text, and surplus answers. Messages without a request do not count as answers.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unasked_messages: u64,
    /// Number of responses on connections on which the server later sent an answer without a request. Some of the
    /// counted responses may themselves be answers without a request.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub doubtful_answers: u64,
    /// Number of completed protocol handshakes.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub handshakes: u64,
    /// Number of handshakes among `handshakes` that resumed an earlier session (TLS).
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub handshakes_resumed: u64,
    /// Number of handshakes among `handshakes_resumed` in which the server accepted early data (0-RTT of HTTP/3).
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub handshakes_early: u64,
    /// Number of requests that were sent in early data that the server accepted.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub early_requests: u64,
    /// Number of requests that were sent in early data and again after the handshake, because the server rejected the
    /// early data or answered with status 425 (Too Early). The response time of a request that was sent twice includes
    /// both attempts. `sent` counts a request that was sent twice only once.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub early_resent: u64,
    /// Number of handshake bytes among `bytes_sent`. Requests in early data count as handshake bytes.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub handshake_bytes_sent: u64,
    /// Number of handshake bytes among `bytes_received`.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub handshake_bytes_received: u64,
}

impl Tally {
    /// Returns the number of all errors: of connects and of requests.
    pub fn error_count(&self) -> u64 {
        self.errors.0.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Returns the number of good answers: responses with an expected status.
    pub fn good(&self) -> u64 {
        self.completed.saturating_sub(self.unexpected_status)
    }

    /// Returns the number of responses for each unexpected status. If the run has unexpected statuses, but no counts of
    /// each, returns instead the number of responses for each status class that means a refusal or an error.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, u64)> {
        let classes = self.status.iter().filter(|(class, _)| super::status::is_refusing(class));
        let by_class = classes.filter(|_| self.unexpected_statuses.is_empty() && self.unexpected_status > 0);
        let all = self.unexpected_statuses.iter().chain(by_class).filter(|(_, n)| **n > 0);
        all.map(|(status, n)| (status.as_str(), *n))
    }

    /// Returns the share of responses that the server may have sent without a request, 0 to 1.
    pub fn doubtful_share(&self) -> f64 {
        self.doubtful_answers as f64 / (self.completed as f64).max(1.0)
    }

    /// Adds the counts of another tally. A sum that would overflow stays at its maximum, because counts from other
    /// hosts may be wrong.
    pub fn merge(&mut self, o: &Self) {
        for (a, b) in [
            (&mut self.attempted, o.attempted),
            (&mut self.connected, o.connected),
            (&mut self.sent, o.sent),
            (&mut self.completed, o.completed),
            (&mut self.unexpected_status, o.unexpected_status),
            (&mut self.due, o.due),
            (&mut self.unanswered, o.unanswered),
            (&mut self.phantom, o.phantom),
            (&mut self.closed_by_server, o.closed_by_server),
            (&mut self.closes_left_to_client, o.closes_left_to_client),
            (&mut self.keep_alive_races, o.keep_alive_races),
            (&mut self.lost_connections, o.lost_connections),
            (&mut self.answers_before_loss, o.answers_before_loss),
            (&mut self.answers_before_loss_squared, o.answers_before_loss_squared),
            (&mut self.bytes_sent, o.bytes_sent),
            (&mut self.bytes_received, o.bytes_received),
            (&mut self.answer_bytes, o.answer_bytes),
            (&mut self.connects_held_back, o.connects_held_back),
            (&mut self.connects_past_need, o.connects_past_need),
            (&mut self.unprocessed, o.unprocessed),
            (&mut self.resent, o.resent),
            (&mut self.traced, o.traced),
            (&mut self.moved, o.moved),
            (&mut self.asked, o.asked),
            (&mut self.unasked_messages, o.unasked_messages),
            (&mut self.doubtful_answers, o.doubtful_answers),
            (&mut self.handshakes, o.handshakes),
            (&mut self.handshakes_resumed, o.handshakes_resumed),
            (&mut self.handshakes_early, o.handshakes_early),
            (&mut self.early_requests, o.early_requests),
            (&mut self.early_resent, o.early_resent),
            (&mut self.handshake_bytes_sent, o.handshake_bytes_sent),
            (&mut self.handshake_bytes_received, o.handshake_bytes_received),
        ] {
            *a = a.saturating_add(b);
        }
        let add = |to: &mut u64, n: &u64| *to = to.saturating_add(*n);
        o.status.iter().for_each(|(class, n)| add(self.status.entry(class.clone()).or_default(), n));
        let statuses = &mut self.unexpected_statuses;
        o.unexpected_statuses.iter().for_each(|(status, n)| add(statuses.entry(status.clone()).or_default(), n));
        o.errors.0.iter().for_each(|(kind, n)| add(self.errors.0.entry(*kind).or_default(), n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a replay, a 404 that the log recorded is a good answer. A verdict blamed such answers for other failures.
    #[test]
    fn expected_errors_are_no_refusals() {
        let mut tally = Tally { completed: 100, status: [("4xx".to_owned(), 40)].into(), ..Tally::default() };
        assert_eq!(tally.refusals().count(), 0);
        tally.unexpected_status = 40;
        assert_eq!(tally.refusals().collect::<Vec<_>>(), [("4xx", 40)]);
    }
}
