//! QUIC (RFC 9000) for client and server, without I/O: the caller passes datagrams in both directions, and the current
//! time. The state machine of a connection is that of the crate quinn-proto, with rustls for the handshake.
//!
//! Limits: the client does not migrate to another network address, and does not test whether the path takes larger
//! datagrams.

mod client;
mod close;
mod link;
mod output;
mod server;
mod time;

pub(crate) use client::{ClientSetup, OverQuic, client};
pub(crate) use close::lost_words;
pub(crate) use link::Link;
pub(crate) use output::Output;
pub(crate) use server::server_setup;
pub(crate) use time::{instant, monotonic_ns};

/// Size of all datagrams of a client except the last one of a group, bytes. QUIC requires every network path to take
/// datagrams of this size (RFC 9000, section 14), so a client never sends larger datagrams.
pub const CLIENT_DATAGRAM_BYTES: u16 = 1200;
