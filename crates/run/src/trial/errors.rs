//! Kinds of failures, and their numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Number of failures by kind, without the kinds that have no failures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Errors(pub BTreeMap<ErrorKind, u64>);

impl Errors {
    /// Returns the number of failures of one kind.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.0.get(&kind).copied().unwrap_or(0)
    }

    /// Returns the number of failed requests: all failures except failures of connects.
    pub fn requests(&self) -> u64 {
        self.sum(|kind| !kind.is_of_connect())
    }

    /// Returns the number of connects that failed because of the server or the network.
    pub fn connects(&self) -> u64 {
        use ErrorKind::{ConnectFailed, ConnectRefused, ConnectTimeout, HandshakeFailed};
        self.sum(|kind| matches!(kind, ConnectRefused | ConnectTimeout | ConnectFailed | HandshakeFailed))
    }

    fn sum(&self, counts: impl Fn(ErrorKind) -> bool) -> u64 {
        self.0.iter().filter(|(kind, _)| counts(**kind)).fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// The server's host refused the connect with a reset. A refused connect to a unix socket means that nothing
    /// listens, or that the queue of the listener is full.
    ConnectRefused,
    /// The connect timed out. S-Clients close the connection after their timeout T and open another connection.
    ConnectTimeout,
    /// The connect failed for another reason, such as a host without a route to it.
    ConnectFailed,
    /// The connection was established, but the handshake on it (TLS, HTTP/2, WebSocket) failed.
    HandshakeFailed,
    /// The client had no local port left (EADDRNOTAVAIL).
    ClientPorts,
    /// The client had no file descriptor left (EMFILE, ENFILE).
    ClientFds,
    /// The connection was reset.
    Reset,
    /// The connection ended before the response began. With a protocol that does not show where a response begins, the
    /// connection ended before the response was complete.
    ShortResponse,
    /// The connection ended or was reset in the middle of a response.
    CutResponse,
    /// The response violates the protocol.
    Malformed,
    /// The response is complete but has an unexpected length or content.
    WrongBody,
    /// The response took longer than the timeout.
    ResponseTimeout,
    /// The server aborted one request before its response was complete (HTTP/2: RST_STREAM).
    StreamReset,
    /// The server refused one request without processing it (HTTP/2: REFUSED_STREAM, or a GOAWAY on a connection
    /// without processed requests).
    StreamRefused,
    /// The server closed a connection just as the client sent a request on it. The client did not send the request
    /// again, because the request is not idempotent, or was already sent again too often.
    KeepAliveRace,
    /// The server closed the connection and asked the client to come back later, which is a sign of overload
    /// (WebSocket: close code 1013).
    TryAgainLater,
    /// A system call failed for a reason that no other kind of failure names.
    Other,
}

impl ErrorKind {
    /// Returns true for a failed connect, which fails before any request on the connection begins.
    pub const fn is_of_connect(self) -> bool {
        use ErrorKind::{ClientFds, ClientPorts, ConnectFailed, ConnectRefused, ConnectTimeout, HandshakeFailed};
        matches!(self, ConnectRefused | ConnectTimeout | ConnectFailed | HandshakeFailed | ClientPorts | ClientFds)
    }

    /// Returns the words for failures of this kind, such as `connects refused`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connects refused",
            Self::ConnectTimeout => "connects timed out",
            Self::ConnectFailed => "connects failed",
            Self::HandshakeFailed => "handshakes failed",
            Self::ClientPorts => "without a local port",
            Self::ClientFds => "without a file descriptor",
            Self::Reset => "resets",
            Self::ShortResponse => "connections closed instead of a response",
            Self::CutResponse => "responses cut off in the middle",
            Self::Malformed => "malformed responses",
            Self::WrongBody => "wrong bodies",
            Self::StreamReset => "streams reset",
            Self::StreamRefused => "streams refused",
            Self::KeepAliveRace => "connections closed as requests left",
            Self::ResponseTimeout => "responses timed out",
            Self::TryAgainLater => "connections closed for overload",
            Self::Other => "other errors",
        }
    }

    /// Returns the words for `n` failures of this kind, to follow the number: `1 reset`, `2 resets`.
    pub const fn words_for(self, n: u64) -> &'static str {
        if n != 1 {
            return self.words();
        }
        match self {
            Self::ConnectRefused => "connect refused",
            Self::ConnectTimeout => "connect timed out",
            Self::ConnectFailed => "connect failed",
            Self::HandshakeFailed => "handshake failed",
            Self::ClientPorts | Self::ClientFds => self.words(),
            Self::Reset => "reset",
            Self::ShortResponse => "connection closed instead of a response",
            Self::CutResponse => "response cut off in the middle",
            Self::Malformed => "malformed response",
            Self::WrongBody => "wrong body",
            Self::StreamReset => "stream reset",
            Self::StreamRefused => "stream refused",
            Self::KeepAliveRace => "connection closed as a request left",
            Self::ResponseTimeout => "response timed out",
            Self::TryAgainLater => "connection closed for overload",
            Self::Other => "other error",
        }
    }

    /// All kinds of failures, in numeric order. Each thread counts failures in an array with one element per kind.
    pub const ALL: [Self; 17] = [
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectFailed,
        Self::HandshakeFailed,
        Self::ClientPorts,
        Self::ClientFds,
        Self::Reset,
        Self::ShortResponse,
        Self::CutResponse,
        Self::Malformed,
        Self::WrongBody,
        Self::ResponseTimeout,
        Self::StreamReset,
        Self::StreamRefused,
        Self::KeepAliveRace,
        Self::TryAgainLater,
        Self::Other,
    ];
}
