//! The handshake (RFC 6455, section 4): an HTTP/1.1 request to change to WebSocket, and its answer.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http1::MAX_HEADERS;

/// Suffix that a server appends to the key (section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Returns the key (Sec-WebSocket-Key) of all client connections in this process. The key is not secret, because it
/// only proves that the server speaks WebSocket. One key per process is enough, so the request is built only once.
pub(super) fn key() -> &'static str {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| STANDARD.encode(fastrand::u128(..).to_ne_bytes()))
}

/// Computes the value of Sec-WebSocket-Accept for a key.
pub(super) fn accept_key(key: &str) -> String {
    let whole = format!("{key}{GUID}");
    STANDARD.encode(ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, whole.as_bytes()))
}

/// Builds the answer that accepts a handshake.
pub(super) fn accept_response(key: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        accept_key(key)
    )
}

/// Checks that a server's answer accepts the handshake. If the answer does not accept the handshake, returns the
/// reason.
pub(super) fn check_accepted(head: &[u8]) -> Result<(), &'static str> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut answer = httparse::Response::new(&mut fields);
    if !answer.parse(head).is_ok_and(|parsed| parsed.is_complete()) {
        return Err("it does not answer the handshake in HTTP/1.1");
    }
    let field = |name: &str| field(answer.headers, name);
    match answer.code {
        Some(101) if !field("upgrade").is_some_and(|v| v.eq_ignore_ascii_case("websocket")) => {
            Err("it changes to another protocol than WebSocket")
        }
        Some(101) if field("sec-websocket-accept") != Some(&accept_key(key())) => {
            Err("its Sec-WebSocket-Accept is not that of our key")
        }
        Some(101) if field("sec-websocket-extensions").is_some_and(|v| !v.is_empty()) => {
            Err("it uses an extension that was not offered")
        }
        Some(101) => Ok(()),
        _ => Err("it refuses the handshake"),
    }
}

/// Returns the key in a client's request, or the status with which the request must be refused.
pub(super) fn request_key(head: &[u8]) -> Result<&str, u16> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    if !request.parse(head).is_ok_and(|parsed| parsed.is_complete()) || request.version != Some(1) {
        return Err(400);
    }
    let fields = request.headers.iter();
    let field = |name: &str| fields.clone().find(|f| f.name.eq_ignore_ascii_case(name)).map(|f| f.value);
    let text = |name: &str| field(name).and_then(|value| std::str::from_utf8(value).ok()).map(str::trim);
    let has = |name: &str, token: &str| {
        text(name).is_some_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(token)))
    };
    let key = text("sec-websocket-key").filter(|key| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16));
    match (request.method, key) {
        (Some("GET"), _) if !has("upgrade", "websocket") || text("sec-websocket-version") != Some("13") => Err(426),
        (Some("GET"), Some(key)) if has("connection", "upgrade") && text("host").is_some() => Ok(key),
        _ => Err(400),
    }
}

fn field<'a>(fields: &[httparse::Header<'a>], name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_accepted() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let request = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
        assert_eq!(request_key(request.as_bytes()), Ok("dGhlIHNhbXBsZSBub25jZQ=="));
        for (from, to, status) in [
            ("GET", "POST", 400),
            ("13", "8", 426),
            ("websocket", "h2c", 426),
            ("ZQ==", "!!==", 400),
            ("Host", "Hast", 400),
            ("HTTP/1.1", "HTTP/1.0", 400),
        ] {
            assert_eq!(request_key(request.replace(from, to).as_bytes()), Err(status), "{from}");
        }
    }

    #[test]
    fn a_handshake_answer_is_accepted_or_refused_with_a_reason() {
        let right = accept_response(key());
        assert_eq!(check_accepted(right.as_bytes()), Ok(()));
        for (from, to, words) in [
            ("101 Switching Protocols", "404 Not Found", "refuses"),
            ("Upgrade: websocket", "Upgrade: h2c", "another protocol"),
            ("Accept: ", "Accept: x", "not that of our key"),
            ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "extension"),
            ("HTTP/1.1", "SSH", "not answer"),
        ] {
            let why = check_accepted(right.replace(from, to).as_bytes()).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
