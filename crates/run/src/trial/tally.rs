//! What is counted of requests and connections, and what can fail of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::unsaid;

/// Counts. Every one is exact; nothing is sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tally {
    /// Connections that were tried (connect() calls that started).
    pub attempted: u64,
    /// Connections that were established.
    pub connected: u64,
    /// Requests that left completely.
    pub sent: u64,
    /// Responses that came back complete and well-formed, of any status.
    pub completed: u64,
    /// Of those, responses whose status is not the expected one (4xx, 5xx, of gRPC all but OK, unless asked for).
    pub unexpected_status: u64,
    /// Responses by status class: `1xx` to `5xx`, or the names of gRPC (`OK`, `UNAVAILABLE`, …).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<String, u64>,
    /// What failed, by kind.
    pub errors: Errors,
    /// Requests that were due in the plan; equals `sent` unless the generator fell behind or connections failed.
    pub due: u64,
    /// Requests still without an answer when the drain ended.
    pub unanswered: u64,
    /// Connections of which the client said established and nothing was ever answered (see source 1 on cookies).
    pub phantom: u64,
    /// Connections that the server closed while they were idle.
    pub closed_by_server: u64,
    /// Payload and header bytes written to sockets.
    pub bytes_sent: u64,
    /// Bytes read from sockets.
    pub bytes_received: u64,
    /// Of the bytes received, those of answers as their protocol counts them, within TLS and framing (HTTP/2: of bodies
    /// alone): the rest is what the wire takes besides.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub answer_bytes: u64,
    /// Times that a request waited and its open loop opened no connection for it, because the pool had what it needs by
    /// Little's law: a connect for each would have been a storm of the generator's own.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub connects_held_back: u64,
    /// Connections that an open loop's pool opened and, by the answers that came then, did not need.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub connects_past_need: u64,
    /// Requests that the server had not looked at when it left their connection (HTTP/2: beyond the last stream of a
    /// GOAWAY). Each was made again on another, with its intended start; `sent` counts it once.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub unprocessed: u64,
    /// Connections that were ready for requests after a handshake of their protocol.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub handshakes: u64,
    /// Of them, those that took up an earlier session (TLS).
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub handshakes_resumed: u64,
    /// Of the bytes sent, those of handshakes.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub handshake_bytes_sent: u64,
    /// Of the bytes received, those of handshakes.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub handshake_bytes_received: u64,
}

impl Tally {
    /// All errors together.
    pub fn error_count(&self) -> u64 {
        self.errors.0.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Adds all counts of another tally; sums end at the largest number there is, since parts come from other hosts.
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
            (&mut self.bytes_sent, o.bytes_sent),
            (&mut self.bytes_received, o.bytes_received),
            (&mut self.answer_bytes, o.answer_bytes),
            (&mut self.connects_held_back, o.connects_held_back),
            (&mut self.connects_past_need, o.connects_past_need),
            (&mut self.unprocessed, o.unprocessed),
            (&mut self.handshakes, o.handshakes),
            (&mut self.handshakes_resumed, o.handshakes_resumed),
            (&mut self.handshake_bytes_sent, o.handshake_bytes_sent),
            (&mut self.handshake_bytes_received, o.handshake_bytes_received),
        ] {
            *a = a.saturating_add(b);
        }
        let add = |to: &mut u64, n: &u64| *to = to.saturating_add(*n);
        o.status.iter().for_each(|(class, n)| add(self.status.entry(class.clone()).or_default(), n));
        o.errors.0.iter().for_each(|(kind, n)| add(self.errors.0.entry(*kind).or_default(), n));
    }
}

/// Failures by kind; a kind that did not happen is not listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Errors(pub BTreeMap<ErrorKind, u64>);

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// The server's host answered with a reset to the connect; a unix socket, that nobody listens or its queue is full.
    ConnectRefused,
    /// The connect was not up in time (for S-Clients: after T; closed and replaced).
    ConnectTimeout,
    /// The connect failed for another reason (unreachable, no route).
    ConnectFailed,
    /// No local port was left (EADDRNOTAVAIL).
    ClientPorts,
    /// No descriptor was left (EMFILE, ENFILE).
    ClientFds,
    /// The connection was reset.
    Reset,
    /// The connection ended before the response was complete.
    ShortResponse,
    /// The response does not follow the protocol.
    Malformed,
    /// The response is complete but not what was expected (wrong length or bytes).
    WrongBody,
    /// The response took longer than the timeout.
    ResponseTimeout,
    /// The server ended one request of a connection before its response was complete (HTTP/2: RST_STREAM).
    StreamReset,
    /// The server refused one request without looking at it (HTTP/2: REFUSED_STREAM, or a GOAWAY on a connection
    /// of which it looked at none).
    StreamRefused,
    /// A system call failed for another reason.
    Other,
}

impl ErrorKind {
    /// All kinds, in the order of their numbers: shards count into an array of this length.
    pub const ALL: [Self; 13] = [
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectFailed,
        Self::ClientPorts,
        Self::ClientFds,
        Self::Reset,
        Self::ShortResponse,
        Self::Malformed,
        Self::WrongBody,
        Self::ResponseTimeout,
        Self::StreamReset,
        Self::StreamRefused,
        Self::Other,
    ];
}
