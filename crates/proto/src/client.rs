//! Traits that the clients of all protocols implement, and errors in the user's settings of a protocol.

use std::path::Path;
use std::sync::Arc;

use run::{Protocol, StreamPlan};

use crate::row::{Flag, FlagValue};
use crate::{Mix, Requester, received_files};

/// Factory of client sessions for one protocol. Cloning a client is cheap, so every thread can have its own clone.
pub trait Client: Clone + Send + 'static {
    /// Client side of one connection.
    type Session: Requester + 'static;

    /// Creates a session for one connection. To use the session for another connection, the caller calls
    /// [`Requester::reset`].
    fn session(&self) -> Self::Session;

    /// Returns the client, adapted to connections over TLS.
    #[must_use]
    fn within_tls(self) -> Self {
        self
    }

    /// Returns the client, changed to expect streams of events as answers. In most protocols, answers are never
    /// streams, and this method returns an error.
    fn with_stream(self, stream: &StreamPlan) -> Result<Self, ProtoError> {
        Err(ProtoError::wrong_stream(stream))
    }

    /// Returns the mix: the different requests of the load, with their weights. In most protocols, the mix is a single
    /// request.
    fn mix(&self) -> &Mix {
        Mix::ONE
    }

    /// Returns true if a request has the same bytes each time it is sent, because no values are filled into it.
    fn fixed(&self) -> bool {
        true
    }

    /// Returns true if the request with the index `_item` may be sent again even if the server may have processed it.
    fn is_idempotent(&self, _item: u16) -> bool {
        false
    }

    /// Returns true if the request with the index `_item` may be sent as early data, which an attacker can repeat (RFC
    /// 8470, section 4).
    fn may_be_early(&self, _item: u16) -> bool {
        false
    }

    /// Returns the share of the connections that each address of the server gets, as weights in the order of the
    /// addresses. Returns an empty list if all addresses get equally many connections.
    fn address_weights(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Returns true if pipelined requests may be sent again on another connection when the server closes the connection
    /// between two answers.
    fn resends_pipelined(&self) -> bool {
        false
    }

    /// Returns true if several requests on one connection can form a transaction. The server may hold locks for a
    /// connection from the first request of a transaction to its last.
    fn has_transactions(&self) -> bool {
        false
    }
}

/// A [`Client`] of any protocol, for use as a trait object. Methods are called by dynamic dispatch, so that the load
/// code is compiled only once for all protocols. A dynamic call takes one or two nanoseconds, but a request takes
/// thousands of nanoseconds.
pub trait AnyClient: Send {
    /// Creates a session for each of `connections` connections.
    fn sessions(&self, connections: usize) -> Box<dyn Sessions>;

    /// Returns the mix of requests, like [`Client::mix`].
    fn mix(&self) -> &Mix;

    /// Returns true if each request always has the same bytes, like [`Client::fixed`].
    fn fixed(&self) -> bool;

    /// Returns true if a request may be sent again, like [`Client::is_idempotent`].
    fn is_idempotent(&self, item: u16) -> bool;

    /// Returns true if a request may be sent as early data, like [`Client::may_be_early`].
    fn may_be_early(&self, item: u16) -> bool;

    /// Returns the weights of the server's addresses, like [`Client::address_weights`].
    fn address_weights(&self) -> Vec<f64>;

    /// Returns true if pipelined requests may be sent again, like [`Client::resends_pipelined`].
    fn resends_pipelined(&self) -> bool;

    /// Returns true if several requests can form a transaction, like [`Client::has_transactions`].
    fn has_transactions(&self) -> bool;

    /// Clones the client for another thread.
    fn clone_client(&self) -> Box<dyn AnyClient>;
}

impl<C: Client> AnyClient for C {
    fn sessions(&self, connections: usize) -> Box<dyn Sessions> {
        Box::new(std::iter::repeat_with(|| self.session()).take(connections).collect::<Vec<_>>())
    }

    fn mix(&self) -> &Mix {
        Client::mix(self)
    }

    fn fixed(&self) -> bool {
        Client::fixed(self)
    }

    fn is_idempotent(&self, item: u16) -> bool {
        Client::is_idempotent(self, item)
    }

    fn may_be_early(&self, item: u16) -> bool {
        Client::may_be_early(self, item)
    }

    fn address_weights(&self) -> Vec<f64> {
        Client::address_weights(self)
    }

    fn resends_pipelined(&self) -> bool {
        Client::resends_pipelined(self)
    }

    fn has_transactions(&self) -> bool {
        Client::has_transactions(self)
    }

    fn clone_client(&self) -> Box<dyn AnyClient> {
        Box::new(self.clone())
    }
}

/// Sessions of one protocol, stored next to each other in memory.
pub trait Sessions {
    /// Returns the session of a connection, by the connection's index.
    fn session(&mut self, connection: usize) -> &mut dyn Requester;
}

impl<S: Requester> Sessions for Vec<S> {
    fn session(&mut self, connection: usize) -> &mut dyn Requester {
        &mut self[connection]
    }
}

/// Error in the user's settings of a protocol.
#[derive(Debug, thiserror::Error)]
pub enum ProtoError {
    /// A file could not be read.
    #[error("cannot read {what} from the file {path:?}: {error}; name a readable file")]
    Unreadable {
        /// Purpose of the file, as a noun for the error text.
        what: &'static str,
        /// Path of the file, as the user gave it.
        path: String,
        /// Error that the operating system returned.
        error: std::io::Error,
    },
    /// A part of a request, or a file for TLS, cannot be used.
    #[error("{what} {value:?} cannot be used: {advice}")]
    Invalid {
        /// Name of the invalid setting.
        what: &'static str,
        /// Value of the setting.
        value: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// The text between the braces of a placeholder names no known value.
    #[error("the placeholder {{{{{name}}}}} names no value: {advice}")]
    UnknownPlaceholder {
        /// Text between the braces of the placeholder.
        name: String,
        /// Advice to the user.
        advice: String,
    },
    /// A flag's value cannot be used.
    #[error("--{flag} {value}: {advice}")]
    Flag {
        /// Name of the flag.
        flag: &'static str,
        /// Value that the user gave, without control characters.
        value: String,
        /// Reason why the value cannot be used, and advice to the user.
        advice: String,
    },
    /// The protocol does not support sets of requests.
    #[error("{0} has no sets of requests; they are for http:// and https:// targets")]
    NoSet(&'static str),
    /// A request in the user's set of requests cannot be sent.
    #[error("request {place} ({name}): {error}")]
    InSet {
        /// Number of the request in the set, counted from 1.
        place: usize,
        /// Name of the request.
        name: String,
        /// Error that was found in the request.
        error: Box<ProtoError>,
    },
    /// The protocol does not support streams of events in the format that the user chose.
    #[error(
        "--stream {0} is not for this target: sse, ndjson and chunks are for http:// and https://, ws for ws://, and grpc \
         (without --stream-end) for grpc://"
    )]
    WrongStream(&'static str),
    /// The protocol cannot be used over TLS.
    #[error("{0} is not supported over TLS; https:// is")]
    NoTls(&'static str),
    /// The protocol can only be used with TLS.
    #[error("{0} is always encrypted: write the target as https:// with --http3, or as h3://")]
    NeedsTls(&'static str),
    /// This build of the program contains no client for the protocol.
    #[error("no client speaks {0}; `loadline list protocols` names those that exist")]
    Unknown(&'static str),
}

impl ProtoError {
    /// Returns the error for a protocol that does not support streams in the format of `stream`.
    pub(crate) const fn wrong_stream(stream: &StreamPlan) -> Self {
        Self::WrongStream(stream.format.name())
    }
}

/// Reads a file that the user named. If another host has sent the content of `path`, returns this content instead of
/// reading a file.
pub(crate) fn read(what: &'static str, path: &str) -> Result<Arc<[u8]>, ProtoError> {
    if let Some(bytes) = received_files::received_file(path) {
        return Ok(bytes);
    }
    let read = run::read_bounded(Path::new(path), run::MAX_REQUEST_FILE_BYTES);
    read.map(Arc::from).map_err(|error| ProtoError::Unreadable { what, path: path.into(), error })
}

/// Reads a text file that the user named, as [`read`] does. Removes a byte order mark, which editors on Windows write
/// at the beginning of a file.
pub(crate) fn read_text(what: &'static str, path: &str) -> Result<String, ProtoError> {
    let bytes = read(what, path)?;
    Ok(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
}

/// Returns the command-line flag that sets the message size, for protocols whose message size the user can choose.
pub(crate) const fn message_bytes(set: fn(&mut Protocol, u64)) -> Flag {
    let help = "echo, discard, source, ws: bytes per message";
    Flag { name: "message-bytes", short: None, requires: None, value: "SIZE", help, set: FlagValue::Bytes(set) }
}

/// Creates a prepared response for measuring the generator's maximum rate without a server. The prepared response has
/// `bytes` bytes, but at most 16 MiB.
pub(crate) fn canned_bytes(bytes: u64) -> Vec<u8> {
    vec![b'x'; bytes.min(16 << 20) as usize]
}

/// Checks that the size of a message is between 1 byte and 1 TiB.
pub(crate) fn positive(message_bytes: u64) -> Result<u64, ProtoError> {
    match message_bytes {
        1..=1_099_511_627_776 => Ok(message_bytes),
        _ => Err(ProtoError::Invalid {
            what: "a message of bytes",
            value: message_bytes.to_string(),
            advice: "give 1 byte to 1 TiB",
        }),
    }
}
