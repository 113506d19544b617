//! TLS 1.3 and 1.2 around any protocol, client and server, without I/O: the TLS session contains the protocol's
//! session. The crate rustls provides the cryptography and the state machine. This module passes bytes between rustls,
//! the protocol's session and the caller, and limits the size of buffers.
//!
//! Allocations: rustls allocates one buffer for each record that it encrypts and one for each record that it decrypts.
//! A handshake allocates memory for its messages. After the handshake, only the buffers for encrypted and decrypted
//! records are allocated.

mod client;
mod config;
mod der;
mod explain;
mod observed;
mod permission;
mod pinned;
mod pipe;
mod server;
mod tickets;

pub use client::{ClientSession, TlsClient};
pub(crate) use config::{client, fresh_config, resuming_config};
pub use config::{self_signed, server_config, with_early_data};
pub(crate) use observed::{CertificateCheck, take_check};
pub use server::ServerSession;
pub use std::sync::Arc;
pub(crate) use tickets::take_new_ticket;

/// Configuration of a server, shared by its connections.
pub type ServerConfig = Arc<rustls::ServerConfig>;

#[cfg(test)]
mod close_notify_tests;
#[cfg(test)]
mod tests;
