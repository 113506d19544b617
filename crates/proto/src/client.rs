//! From a plan to client sessions: files are read here, once; whatever is wrong is said before any load is sent.

use std::path::Path;
use std::sync::Arc;

use run::Protocol;

use crate::{Session, discard, echo, http1, raw, record, source};

/// Makes the sessions of one protocol. Cheap to clone, so every thread has its own.
pub trait Client: Clone + Send + 'static {
    /// The client half.
    type Session: Session;

    /// A session for one connection; reuse it with [`Session::reset`].
    fn session(&self) -> Self::Session;
}

/// The client of a plan, to be matched once a thread so that the loop behind it is compiled for its protocol.
#[derive(Clone)]
pub enum ClientKind {
    /// HTTP/1.1.
    Http1(http1::ClientPlan),
    /// Echo.
    Echo(echo::ClientPlan),
    /// Bytes of a file out, a number of bytes back.
    Raw(raw::ClientPlan),
    /// Sends only.
    Discard(discard::ClientPlan),
    /// Receives only.
    Source(source::ClientPlan),
    /// Records of a file.
    Record(record::ClientPlan),
}

/// One row of [`PROTOCOLS`].
#[derive(Clone, Copy, Debug)]
pub struct ProtocolSpec {
    /// Name in plans and tables.
    pub name: &'static str,
    /// What it says on the wire, in one line.
    pub help: &'static str,
}

/// Every protocol a generator speaks.
pub const PROTOCOLS: &[ProtocolSpec] = &[
    ProtocolSpec { name: "http1", help: "HTTP/1.1 requests; status, length and framing of every response are checked" },
    ProtocolSpec { name: "echo", help: "sends a block of bytes and checks that the same bytes come back" },
    ProtocolSpec { name: "raw", help: "sends the bytes of a file and expects a number of bytes, or the close" },
    ProtocolSpec { name: "discard", help: "sends blocks of bytes and expects nothing back" },
    ProtocolSpec { name: "source", help: "receives what the server sends and counts it in messages" },
    ProtocolSpec {
        name: "record",
        help: "reads records of a file: 60 bytes out, 60 and the record back; splits as source 3 says",
    },
];

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
    /// The protocol has no client in this build.
    #[error("no client speaks {0}; `loadline list protocols` names those that exist")]
    Unknown(&'static str),
}

/// Prepares the client half of a plan's protocol.
pub fn client(plan: &Protocol) -> Result<ClientKind, ProtoError> {
    Ok(match plan {
        Protocol::Http1 { .. } => ClientKind::Http1(http1::ClientPlan::new(plan)?),
        Protocol::Echo { message_bytes } => ClientKind::Echo(echo::ClientPlan::new(positive(*message_bytes)?)),
        Protocol::Raw { send_file, expect_bytes } => {
            let bytes = send_file.as_deref().map_or_else(|| Ok(Arc::from([])), |f| read("the file to send", f))?;
            ClientKind::Raw(raw::ClientPlan::new(bytes, *expect_bytes))
        }
        Protocol::Discard { message_bytes } => ClientKind::Discard(discard::ClientPlan::new(positive(*message_bytes)?)),
        Protocol::Source { message_bytes } => ClientKind::Source(source::ClientPlan::new(positive(*message_bytes)?)),
        Protocol::Record { record_bytes } => ClientKind::Record(record::ClientPlan::new(record(*record_bytes)?)),
    })
}

/// Reads a file named in a plan.
pub(crate) fn read(what: &'static str, path: &str) -> Result<Arc<[u8]>, ProtoError> {
    let read = std::fs::read(Path::new(path));
    read.map(Arc::from).map_err(|error| ProtoError::Unreadable { what, path: path.into(), error })
}

fn positive(message_bytes: u64) -> Result<u64, ProtoError> {
    match message_bytes {
        1..=1_099_511_627_776 => Ok(message_bytes),
        _ => Err(ProtoError::Invalid {
            what: "a message of bytes",
            value: message_bytes.to_string(),
            advice: "give 1 byte to 1 TiB",
        }),
    }
}

fn record(record_bytes: u64) -> Result<u32, ProtoError> {
    let fits = u32::try_from(record_bytes).ok().filter(|n| (1..=record::MOST_BYTES).contains(n));
    fits.ok_or_else(|| ProtoError::Invalid {
        what: "a record of bytes",
        value: record_bytes.to_string(),
        advice: "give 1 byte to 1 MiB",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_of_the_table_has_a_client() {
        let plans = [
            Protocol::default(),
            Protocol::Echo { message_bytes: 1 },
            Protocol::Raw { send_file: None, expect_bytes: None },
            Protocol::Discard { message_bytes: 1 },
            Protocol::Source { message_bytes: 1 },
            Protocol::Record { record_bytes: 1 },
        ];
        for (plan, spec) in plans.iter().zip(PROTOCOLS) {
            assert_eq!(plan.name(), spec.name);
            assert!(client(plan).is_ok());
        }
    }

    #[test]
    fn an_unreadable_file_and_an_empty_message_are_named() {
        let raw = Protocol::Raw { send_file: Some("/nonexistent/x".into()), expect_bytes: None };
        assert!(client(&raw).err().unwrap().to_string().contains("/nonexistent/x"));
        assert!(client(&Protocol::Echo { message_bytes: 0 }).is_err());
    }
}
