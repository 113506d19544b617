//! TLS 1.3 and 1.2 around any protocol, both halves, without I/O: a session within a session. The cryptography and the
//! state machine are rustls's; here bytes are handed to and fro, and memory is bounded.
//!
//! What it allocates: rustls keeps one buffer for each record that it sends and each that it decrypts; beyond that
//! nothing once the handshake is over. A handshake allocates what its messages need.

mod client;
mod config;
mod explain;
mod pipe;
mod server;
mod tickets;

pub use client::{ClientSession, TlsClient};
pub(crate) use config::client;
pub use config::{self_signed, server_config};
pub use server::ServerSession;
pub use std::sync::Arc;

/// Configuration of a server, shared by its connections.
pub type ServerConfig = Arc<rustls::ServerConfig>;

#[cfg(test)]
mod tests;
