//! From a plan to client sessions: what every protocol needs for it.

use std::path::Path;
use std::sync::Arc;

use run::Protocol;

use crate::row::{Flag, Set};
use crate::{Mix, Requester, sent};

/// Makes the sessions of one protocol. Cheap to clone, so every thread has its own.
pub trait Client: Clone + Send + 'static {
    /// The client half.
    type Session: Requester + 'static;

    /// A session for one connection; reuse it with [`Requester::reset`].
    fn session(&self) -> Self::Session;

    /// The same, told that it is spoken within TLS.
    #[must_use]
    fn within_tls(self) -> Self {
        self
    }

    /// How its requests are gone through; most protocols have one.
    fn mix(&self) -> &Mix {
        Mix::ONE
    }

    /// Whether each request always has the same bytes.
    fn fixed(&self) -> bool {
        true
    }
}

/// A [`Client`] of whatever protocol a plan asks for. What a load does with it is compiled once for all protocols, while a call
/// by table takes a nanosecond or two of a request that takes thousands.
pub trait AnyClient: Send {
    /// A session for each of so many connections.
    fn sessions(&self, connections: usize) -> Box<dyn Sessions>;

    /// As [`Client::mix`].
    fn mix(&self) -> &Mix;

    /// As [`Client::fixed`].
    fn fixed(&self) -> bool;

    /// The same once more, for another thread.
    fn another(&self) -> Box<dyn AnyClient>;
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

    fn another(&self) -> Box<dyn AnyClient> {
        Box::new(self.clone())
    }
}

/// Sessions of one protocol, side by side in memory.
pub trait Sessions {
    /// That of a connection.
    fn at(&mut self, connection: usize) -> &mut dyn Requester;
}

impl<S: Requester> Sessions for Vec<S> {
    fn at(&mut self, connection: usize) -> &mut dyn Requester {
        &mut self[connection]
    }
}

/// What is wrong with the protocol part of a plan.
#[derive(Debug, thiserror::Error)]
pub enum ProtoError {
    /// A file could not be read.
    #[error("cannot read {what} {path}: {error}; name a readable file")]
    Unreadable {
        /// What the file is for.
        what: &'static str,
        /// As it was given.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A part of a request cannot be sent as it is.
    #[error("{what} {value:?} cannot be sent: {advice}")]
    Invalid {
        /// Which part.
        what: &'static str,
        /// What was given.
        value: String,
        /// What is possible.
        advice: &'static str,
    },
    /// The protocol has no sets of requests.
    #[error("{0} has no sets of requests; they are for http:// and https:// targets")]
    NoSet(&'static str),
    /// One request of a set cannot be sent.
    #[error("request {place} ({name}): {error}")]
    InSet {
        /// Its place, from 1.
        place: usize,
        /// What it is called.
        name: String,
        /// What is wrong.
        error: Box<ProtoError>,
    },
    /// The protocol is not spoken within TLS.
    #[error("{0} is not supported over TLS; https:// is")]
    NoTls(&'static str),
    /// The protocol has no client in this build.
    #[error("no client speaks {0}; `loadline list protocols` names those that exist")]
    Unknown(&'static str),
}

/// Reads a file named in a plan.
pub(crate) fn read(what: &'static str, path: &str) -> Result<Arc<[u8]>, ProtoError> {
    if let Some(bytes) = sent::of(path) {
        return Ok(bytes);
    }
    let read = std::fs::read(Path::new(path));
    read.map(Arc::from).map_err(|error| ProtoError::Unreadable { what, path: path.into(), error })
}

/// The flag of protocols whose messages have a size.
pub(crate) const fn message_bytes(set: fn(&mut Protocol, u64)) -> Flag {
    let help = "echo, discard, source, ws: bytes a message";
    Flag { name: "message-bytes", short: None, requires: None, value: "SIZE", help, set: Set::Bytes(set) }
}

/// Bytes of a canned response: enough for any ceiling, and never all memory.
pub(crate) fn canned_bytes(bytes: u64) -> Vec<u8> {
    vec![b'x'; bytes.min(16 << 20) as usize]
}

/// The size of a message.
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
