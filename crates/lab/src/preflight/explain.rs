//! Sentences that explain why the test request got no answer, with advice.

use std::io::ErrorKind;
use std::time::Duration;

use proto::Fault;
use run::number::prose::counted;
use run::{Address, LoadPlan, Protocol};

use super::exchange::{Exchange, ExchangeError};

/// Explains to the user why no connection could be made.
pub(super) fn explain_connect(addr: &Address, error: &std::io::Error, timeout_s: f64) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused if addr.inet().is_none() => {
            format!("nothing listens on {addr} ({error}); start the server or correct the path")
        }
        ErrorKind::ConnectionRefused => {
            format!("nothing listens on {addr} (connection refused); start the server or correct the port")
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => format!(
            "no connection to {addr} within {timeout_s} s; the server or a firewall drops connects, or its accept queue is full"
        ),
        // With IPv6, `AddrNotAvailable` may also mean that this host has no IPv6 address.
        ErrorKind::AddrNotAvailable if addr.inet().is_some_and(|addr| addr.is_ipv4()) => sys::exhausted::no_ports(),
        _ => format!("connecting to {addr} failed: {error}; check address and route"),
    }
}

/// Explains to the user why an exchange was not completed.
pub(super) fn explain_exchange(
    exchange: &Exchange,
    broken: &ExchangeError,
    plan: &LoadPlan,
    wait_advice: &str,
) -> String {
    if plan.tls.is_some()
        && !exchange.request_begun
        && let Some(why) = explain_handshake(exchange, broken, plan, wait_advice)
    {
        return why;
    }
    let (protocol, after) = (spoken(plan), waited(exchange.begin.elapsed()));
    let answered = answered(exchange, plan.tls.is_some());
    match broken {
        ExchangeError::Io(e) if is_over_udp(plan) && e.kind() == ErrorKind::ConnectionRefused => {
            format!("nothing listens on this UDP port; start a server of {protocol}, or leave --http3 out")
        }
        ExchangeError::Endless if exchange.is_silent_after_handshake() => format!(
            "it completed the handshake and answered nothing for {after}; does it speak {protocol}, and is it alive?\
             {wait_advice}"
        ),
        ExchangeError::Silent => format!(
            "the connection was made, but the server said nothing for {after}; does it speak {protocol}, and is it alive?\
             {wait_advice}"
        ),
        ExchangeError::Unread => format!(
            "the connection was made, but the server did not read the whole request within {after}; does it take requests of this \
             size, and is it alive?{wait_advice}"
        ),
        ExchangeError::Endless | ExchangeError::Fault(_) if answers_plain_with_tls(exchange, plan) => {
            format!("it speaks TLS, not plain {protocol}; write the target with {}://", scheme(plan, true))
        }
        ExchangeError::Endless => format!(
            "no complete response came within {after} ({answered} so far), and a response that never ends cannot be \
             measured{wait_advice}"
        ),
        ExchangeError::Explained(why) => why.clone(),
        ExchangeError::Fault(Fault::Short) => explain_end(exchange, None, protocol, &answered),
        ExchangeError::Fault(Fault::Limit(what)) => {
            format!("the response exceeds a limit of the client: {what}; is this the right server?")
        }
        ExchangeError::Fault(fault) => explain_fault(exchange, fault, plan),
        ExchangeError::Io(e) => explain_end(exchange, Some(e), protocol, &answered),
    }
}

/// Explains why a handshake of TLS or QUIC was not completed. Returns `None` if the same explanation applies outside of
/// a handshake.
fn explain_handshake(
    exchange: &Exchange,
    broken: &ExchangeError,
    plan: &LoadPlan,
    wait_advice: &str,
) -> Option<String> {
    let (protocol, plain) = (spoken(plan), scheme(plan, false));
    let after = waited(exchange.begin.elapsed());
    let lost = |how| {
        format!(
            "the server {how} the connection in the TLS handshake after {} bytes; does it speak TLS on this port ({plain}:// \
             is the plain scheme), and TLS 1.2 or 1.3?",
            exchange.bytes
        )
    };
    match broken {
        ExchangeError::Silent | ExchangeError::Endless if is_over_udp(plan) => Some(format!(
            "no handshake of QUIC was completed within {after} ({} bytes came); does the server speak {protocol} on this UDP \
             port, and does every firewall let UDP pass?{wait_advice}",
            exchange.bytes
        )),
        ExchangeError::Silent => Some(format!(
            "the connection was made, but the server answered no TLS handshake for {after}; does it speak TLS on this port \
             ({plain}:// is the plain scheme), and is it alive?{wait_advice}"
        )),
        ExchangeError::Fault(Fault::Short) => Some(lost("closed")),
        ExchangeError::Io(e) if is_reset(e) => Some(lost("reset")),
        ExchangeError::Fault(Fault::Malformed(why)) => Some((*why).to_owned()),
        _ => None,
    }
}

/// Explains the end of a connection before the whole answer came. `error` is `None` if the server closed the
/// connection.
fn explain_end(exchange: &Exchange, error: Option<&std::io::Error>, protocol: &str, answered: &str) -> String {
    let how = if error.is_some() { "reset" } else { "closed" };
    match error {
        None if exchange.bytes == 0 => format!(
            "the server closed the connection without a byte; does it speak {protocol} (and not TLS) on this port?"
        ),
        _ if error.is_none_or(is_reset) && exchange.handshakes > 0 && exchange.is_silent_after_handshake() => format!(
            "the server completed the handshake and {how} the connection without an answer; does it speak {protocol} on \
             this port?"
        ),
        None => format!("the server closed the connection after {answered}, in the middle of a response"),
        Some(e) if is_reset(e) && exchange.bytes == 0 => format!(
            "the server reset the connection without an answer; does it speak {protocol} (and not TLS) on this port?"
        ),
        Some(e) => format!("the connection broke after {answered}: {e}"),
    }
}

/// Explains an answer that is no answer of the plan's protocol.
fn explain_fault(exchange: &Exchange, fault: &Fault, plan: &LoadPlan) -> String {
    // With `tcp://`, the server may speak any protocol.
    if matches!(plan.protocol, Protocol::Raw { .. }) {
        return format!("{fault}; its answer begins {}", exchange.answer.beginning());
    }
    let protocol = spoken(plan);
    match foreign_protocol(&exchange.answer.0) {
        // The server uses HTTP/2, so no other protocol is suggested. `fault` already contains the server's error.
        Some("HTTP/2") if protocol == "http2" => fault.to_string(),
        Some("HTTP/2") if proto::spec(&plan.protocol).alpn == "h2" => {
            format!("{fault}: does it speak {protocol}?")
        }
        Some(name) => format!("it speaks {name}, not {protocol}; correct the port or the scheme"),
        // A complete handshake of QUIC, or a login, shows that the server speaks the protocol. The first bytes belong to
        // this handshake, so they do not show the fault.
        None if is_over_udp(plan) || had_handshake(exchange, plan.tls.is_some()) => {
            format!("{fault}; the handshake of {protocol} was complete, so correct the server or the request")
        }
        None if exchange.answer.0.is_empty() => format!("{fault}: does it speak {protocol}?"),
        None if plan.protocol.http().is_some() && exchange.answer.0.starts_with(b"HTTP/1.") => {
            format!("{fault}; its answer begins {}", exchange.answer.beginning())
        }
        None => {
            format!("{fault}; its answer begins {}: does it speak {protocol}?", exchange.answer.beginning())
        }
    }
}

/// Returns true if the server sent a handshake of the protocol before the request began. A handshake of TLS alone does
/// not count.
fn had_handshake(exchange: &Exchange, over_tls: bool) -> bool {
    let bytes = if over_tls { exchange.handshake_plain as u64 } else { exchange.handshake_bytes };
    exchange.request_begun && bytes > 0
}

/// Formats the number of bytes that came after the handshake: `1 byte`, `1,875 bytes`.
fn answered(exchange: &Exchange, over_tls: bool) -> String {
    counted(exchange.bytes_after_handshake(over_tls) as f64, "byte")
}

/// Returns true if the error means that the server reset the connection.
fn is_reset(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionReset
}

/// Returns true if the plan's protocol uses UDP.
fn is_over_udp(plan: &LoadPlan) -> bool {
    proto::spec(&plan.protocol).datagrams
}

/// Returns true if the server answers with TLS although the plan has none.
fn answers_plain_with_tls(exchange: &Exchange, plan: &LoadPlan) -> bool {
    plan.tls.is_none() && foreign_protocol(&exchange.answer.0) == Some("TLS")
}

/// Returns the usual URL scheme of the plan's protocol, with or without TLS.
fn scheme(plan: &LoadPlan, tls: bool) -> &'static str {
    let usual = |scheme: &&proto::Scheme| scheme.tls == tls && !["h2", "h2c", "h3"].contains(&scheme.name);
    let found = proto::spec(&plan.protocol).schemes.iter().find(usual);
    found.map_or(if tls { "https" } else { "http" }, |scheme| scheme.name)
}

/// Returns the name of the plan's protocol, as users write it in a target.
fn spoken(plan: &LoadPlan) -> &'static str {
    if ["h2", "h3"].contains(&proto::spec(&plan.protocol).alpn) { plan.protocol.name() } else { scheme(plan, false) }
}

/// Formats a waiting time: in whole milliseconds if it is shorter than 0.1 s, otherwise in seconds with one decimal.
fn waited(time: Duration) -> String {
    match time.as_secs_f64() {
        time_s if time_s < 0.1 => format!("{:.0} ms", time_s * 1e3),
        time_s => format!("{time_s:.1} s"),
    }
}

/// Names of protocols, each with bytes that its servers send first.
const FOREIGN_GREETINGS: &[(&str, &[u8])] = &[
    ("SSH", b"SSH-"),
    ("TLS", b"\x15\x03"),
    ("TLS", b"\x16\x03"),
    ("SMTP or FTP", b"220"),
    ("Redis", b"-ERR"),
    ("IMAP", b"* OK"),
    ("POP3", b"+OK"),
    ("VNC", b"RFB "),
];

fn foreign_protocol(seen: &[u8]) -> Option<&'static str> {
    let known = FOREIGN_GREETINGS.iter().find(|(_, greeting)| seen.starts_with(greeting)).map(|(name, _)| *name);
    known.or_else(|| begins_with_settings(seen).then_some("HTTP/2"))
}

/// Returns true if bytes begin with a frame SETTINGS of HTTP/2: its length is a multiple of 6, its type is 4, and it has
/// neither flags nor a stream (RFC 9113, section 6.5).
fn begins_with_settings(seen: &[u8]) -> bool {
    let [0, high, low, 4, 0, 0, 0, 0, 0, ..] = *seen else { return false };
    u16::from_be_bytes([high, low]).is_multiple_of(6)
}
