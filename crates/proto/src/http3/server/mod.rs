//! HTTP/3 server without I/O. One shard serves the connections of one UDP socket. Datagrams with the addresses of their
//! senders come in, and groups of datagrams with addresses go out.

mod answer;
mod connection;
mod requests;
mod shard;
mod timers;
mod unconnected;

use std::sync::Arc;

use quinn_proto::{EndpointConfig, ServerConfig};

use crate::ProtoError;
use crate::quic::server_setup;

pub use shard::ServerShard;
pub use unconnected::{answers, reads_peer_streams};

/// Configuration that all shards of a server share.
#[derive(Clone)]
pub struct ServerPlan {
    endpoint: Arc<EndpointConfig>,
    config: Arc<ServerConfig>,
}

impl ServerPlan {
    /// Creates the configuration of the HTTP/3 server. The TLS settings must offer the protocol `h3` by ALPN. A client
    /// may have at most `streams` requests open on a connection.
    pub fn new(tls: crate::tls::ServerConfig, streams: u32) -> Result<Self, ProtoError> {
        let (endpoint, config) = server_setup(tls, streams)?;
        Ok(Self { endpoint, config })
    }
}

/// Counts of a shard, since they were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Number of connections whose handshake was completed.
    pub opened: u64,
    /// Number of connections with a completed handshake that have ended.
    pub closed: u64,
    /// Number of connections with a completed handshake that have ended because the client violated the protocol.
    pub faults: u64,
    /// Number of connections with a completed handshake that have ended because the client was silent.
    pub silent: u64,
    /// Number of completed requests.
    pub requests: u64,
}
