//! Configuration of a QUIC server, built once.

use std::sync::Arc;

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{EndpointConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig, VarInt};

use crate::ProtoError;

/// Maximum number of bytes that a client may send on one stream before the server has read them.
const STREAM_WINDOW: u32 = 1 << 20;
/// Maximum number of bytes that a client may send on all streams of a connection before the server has read them.
const CONNECTION_WINDOW: u32 = 4 << 20;
/// Maximum number of unidirectional streams that a client may open. HTTP/3 needs three of these streams.
const MAX_CLIENT_STREAMS: u32 = 16;
/// Maximum number of bytes that one connection may have sent without an acknowledgement.
const SEND_WINDOW: u64 = 4 << 20;

/// Returns the configuration of a server and of its endpoints. A client may have at most `streams` requests open on a
/// connection.
pub(crate) fn server_setup(
    tls: Arc<rustls::ServerConfig>,
    streams: u32,
) -> Result<(Arc<EndpointConfig>, Arc<ServerConfig>), ProtoError> {
    let crypto = QuicServerConfig::try_from(tls).map_err(|e| ProtoError::Invalid {
        what: "TLS",
        value: e.to_string(),
        advice: "QUIC needs the cipher AES-128-GCM, which loadline's TLS lacks: please report this bug",
    })?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(streams))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_CLIENT_STREAMS))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .mtu_discovery_config(Some(MtuDiscoveryConfig::default()));
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    Ok((Arc::new(EndpointConfig::default()), Arc::new(config)))
}
