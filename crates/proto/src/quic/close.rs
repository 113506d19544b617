//! Reasons for which QUIC connections end, as sentences.

use quinn_proto::{ConnectionError, TransportErrorCode};

/// Maximum number of bytes that are shown of the reason that the server sent.
const MAX_SHOWN: usize = 200;
/// First error code of TLS alerts (RFC 9001, section 4.8).
const FIRST_ALERT: u64 = 0x100;
/// TLS alert from a server that supports none of the protocols that the client offers (RFC 7301, section 3.2).
const NO_APPLICATION_PROTOCOL: u64 = FIRST_ALERT + 120;

/// Names of QUIC's own error codes (RFC 9000, section 20.1), indexed by code.
const NAMES: &[&str] = &[
    "NO_ERROR",
    "INTERNAL_ERROR",
    "CONNECTION_REFUSED",
    "FLOW_CONTROL_ERROR",
    "STREAM_LIMIT_ERROR",
    "STREAM_STATE_ERROR",
    "FINAL_SIZE_ERROR",
    "FRAME_ENCODING_ERROR",
    "TRANSPORT_PARAMETER_ERROR",
    "CONNECTION_ID_LIMIT_ERROR",
    "PROTOCOL_VIOLATION",
    "INVALID_TOKEN",
    "APPLICATION_ERROR",
    "CRYPTO_BUFFER_EXCEEDED",
    "KEY_UPDATE_ERROR",
    "AEAD_LIMIT_REACHED",
    "NO_VIABLE_PATH",
];

/// Returns a sentence about the end of a connection. `application` names an error code of the protocol over QUIC.
pub(crate) fn lost_words(reason: &ConnectionError, application: fn(u64) -> String) -> String {
    match reason {
        ConnectionError::ApplicationClosed(close) => closed(&application(close.error_code.into_inner()), &close.reason),
        ConnectionError::ConnectionClosed(close) if u64::from(close.error_code) == NO_APPLICATION_PROTOCOL => {
            "the server speaks QUIC on this port, but not HTTP/3 (ALPN h3); leave --http3 out".into()
        }
        ConnectionError::ConnectionClosed(close) => closed(&named(close.error_code), &close.reason),
        ConnectionError::TransportError(error) if is_certificate(&error.reason) => format!(
            "the server's certificate is not accepted ({}); name its authority with --cacert FILE, or measure anyway with \
             --insecure",
            words(error.reason.as_bytes())
        ),
        ConnectionError::TransportError(error) => {
            format!("the server breaks the QUIC protocol: {} {}", named(error.code), words(error.reason.as_bytes()))
        }
        ConnectionError::VersionMismatch => "the server speaks no QUIC of version 1, which is spoken here".into(),
        ConnectionError::Reset => "the server does not know the connection any more (stateless reset)".into(),
        ConnectionError::TimedOut => "the server was silent until QUIC's idle timeout".into(),
        ConnectionError::LocallyClosed => "the client closed the connection".into(),
        ConnectionError::CidsExhausted => "no connection IDs are left".into(),
    }
}

fn is_certificate(reason: &str) -> bool {
    reason.contains("certificate")
}

fn closed(code: &str, reason: &[u8]) -> String {
    let words = if reason.is_empty() { String::new() } else { format!(" and the words {}", words(reason)) };
    format!("the server closed the connection (CONNECTION_CLOSE) with {code}{words}")
}

fn words(text: &[u8]) -> String {
    format!("{:?}", run::visible(&String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN)])))
}

fn named(code: TransportErrorCode) -> String {
    let code = u64::from(code);
    match NAMES.get(usize::try_from(code).unwrap_or(usize::MAX)) {
        Some(name) => format!("{name} ({code:#x})"),
        None if (FIRST_ALERT..FIRST_ALERT + 0x100).contains(&code) => format!("the TLS alert {}", code - FIRST_ALERT),
        None => format!("the code {code:#x}"),
    }
}
