//! Configuration of the QUIC connections of a load, built once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, ConnectError, Endpoint, EndpointConfig, RandomConnectionIdGenerator, TransportConfig, VarInt,
};
use run::{TlsPlan, TlsVersion};

use super::link::{Link, PLACEHOLDER_ADDRESS};
use crate::tls::{fresh_config, resuming_config};
use crate::{Client, ProtoError, ProtocolSpec};

/// Maximum number of bytes that a server may send on one stream before the client has read them.
const STREAM_WINDOW: u32 = 1 << 20;
/// Maximum number of bytes that a server may send on all streams of a connection before the client has read them.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Maximum number of unidirectional streams that a server may open. HTTP/3 needs three of these streams.
const MAX_SERVER_STREAMS: u32 = 16;

/// A client whose protocol is spoken over QUIC.
pub(crate) trait OverQuic: Client {
    /// Returns the client, changed to open its connections with the configuration `setup`.
    fn over(self, setup: Arc<ClientSetup>) -> Self;
}

/// Creates the client of a protocol over QUIC.
pub(crate) fn client<C: OverQuic>(plan: &TlsPlan, spec: ProtocolSpec, within: C) -> Result<C, ProtoError> {
    Ok(within.over(Arc::new(ClientSetup::new(plan, spec.alpn)?)))
}

/// Configuration that all connections of a load share.
pub(crate) struct ClientSetup {
    /// Configuration of connections with a full handshake.
    fresh: ClientConfig,
    /// Configuration of connections that resume an earlier session.
    resuming: ClientConfig,
    endpoint: Arc<EndpointConfig>,
    /// Fraction of connections that resume an earlier session, 0 to 1.
    resume: f64,
    name: String,
    /// Number of connections so far, which decides whether the next connection resumes an earlier session.
    connections: AtomicU64,
}

impl ClientSetup {
    fn new(plan: &TlsPlan, alpn: &str) -> Result<Self, ProtoError> {
        if plan.version == Some(TlsVersion::V1_2) {
            return Err(invalid("--tls", "1.2", "HTTP/3 has TLS 1.3 only; leave --tls out"));
        }
        let mut endpoint = EndpointConfig::default();
        // Each connection has its own socket, so datagrams need no connection ID to find their connection.
        endpoint.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
        let transport = Arc::new(transport());
        let mut resuming = resuming_config(plan, alpn)?;
        resuming.enable_early_data = plan.early_data;
        Ok(Self {
            fresh: with_tls(fresh_config(plan, alpn)?, &transport)?,
            resuming: with_tls(resuming, &transport)?,
            endpoint: Arc::new(endpoint),
            resume: plan.resume,
            name: plan.server_name.trim_start_matches('[').trim_end_matches(']').to_owned(),
            connections: AtomicU64::new(0),
        })
    }

    /// Opens the next connection. The error is a sentence with advice.
    pub(crate) fn connect(&self, now: Instant) -> Result<Link, String> {
        let n = self.connections.fetch_add(1, Ordering::Relaxed) as f64;
        let resumes = ((n + 1.0) * self.resume).floor() > (n * self.resume).floor();
        let config = if resumes { &self.resuming } else { &self.fresh };
        let mut endpoint = Endpoint::new(self.endpoint.clone(), None, false, None);
        let connected = endpoint.connect(now, config.clone(), PLACEHOLDER_ADDRESS, &self.name);
        let (handle, connection) = connected.map_err(|error| self.not_begun(&error))?;
        Ok(Link::new(endpoint, handle, connection))
    }

    fn not_begun(&self, error: &ConnectError) -> String {
        format!("no handshake of QUIC can begin with {:?} ({error}); give a host name or an address", self.name)
    }
}

fn with_tls(config: rustls::ClientConfig, transport: &Arc<TransportConfig>) -> Result<ClientConfig, ProtoError> {
    let crypto = QuicClientConfig::try_from(config).map_err(|e| {
        invalid(
            "TLS",
            &e.to_string(),
            "QUIC needs the cipher AES-128-GCM, which loadline's TLS lacks: please report this bug",
        )
    })?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport.clone());
    Ok(config)
}

/// Returns the settings of the client's connections. The server may open no bidirectional stream (RFC 9114, section
/// 6.1).
fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_SERVER_STREAMS))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        .datagram_receive_buffer_size(None)
        .mtu_discovery_config(None);
    transport
}

fn invalid(what: &'static str, value: &str, advice: &'static str) -> ProtoError {
    ProtoError::Invalid { what, value: value.into(), advice }
}
