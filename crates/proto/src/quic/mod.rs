//! QUIC (RFC 9000) for client and server, without I/O: the caller passes datagrams in both directions, and the current
//! time. The crate quinn-proto provides the state machine of a connection, and rustls the handshake.
//!
//! Limits: the client does not change its network address, and does not test whether the path allows larger datagrams.

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

/// Size of all datagrams of a client except the last one of a group, bytes. Every network path for QUIC must allow
/// datagrams of this size (RFC 9000, section 14), so a client never sends larger ones.
pub const CLIENT_DATAGRAM_BYTES: u16 = 1200;
