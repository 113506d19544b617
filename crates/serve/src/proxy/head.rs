//! Heads as a proxy reads them: where the body ends, whether the connection goes on, and whether the head can be
//! passed on as it is (the usual case) or has fields that concern one connection only (RFC 9110, section 7.6.1).
//! A request whose length could be read in two ways is refused (RFC 9112, section 6.3).

use std::mem::MaybeUninit;

use super::body::Body;

/// Most header fields of a head.
const FIELDS: usize = 100;

/// A request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Bytes of the head.
    pub(super) length: usize,
    pub(super) body: Body,
    /// The client wants to go on after this exchange.
    pub(super) keep: bool,
    /// The answer has no body.
    pub(super) is_head: bool,
    /// May be sent twice: no body, and a method that changes nothing.
    pub(super) repeatable: bool,
    /// Fields are to be left out.
    pub(super) rewrite: bool,
    /// The client understands interim responses: it speaks HTTP/1.1.
    pub(super) interim: bool,
}

/// A response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    /// Bytes of the head.
    pub(super) length: usize,
    pub(super) body: Body,
    /// The server goes on after this exchange.
    pub(super) keep: bool,
    /// An interim response (1xx): another one follows.
    pub(super) interim: bool,
    /// It names Connection or Keep-Alive.
    pub(super) names_connection: bool,
}

/// Why a head is refused, as the status that the client is told.
pub(super) type Refused = u16;

/// What the fields say about framing and the connection.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    names_connection: bool,
    rewrite: bool,
}

/// Reads a request head; `None` when it is not complete yet.
pub(super) fn request(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    // Not filled before: that would cost more than reading the usual head.
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut head = httparse::Request::new(&mut []);
    let length = match head.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(431),
        Err(httparse::Error::Version) => return Err(505),
        Err(_) => return Err(400),
    };
    let found = read_fields(head.headers).map_err(|()| 400_u16)?;
    if found.chunked && found.length.is_some() {
        return Err(400);
    }
    let method = head.method.unwrap_or_default();
    if method == "CONNECT" {
        return Err(405);
    }
    let new = head.version == Some(1);
    let body = if found.chunked { Body::CHUNKED } else { Body::Length(found.length.unwrap_or(0)) };
    Ok(Some(Request {
        length,
        body,
        keep: new && !found.close,
        is_head: method == "HEAD",
        repeatable: body.done() && matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE"),
        rewrite: found.rewrite || found.close || !new && found.names_connection,
        interim: new,
    }))
}

/// Reads a response head; `None` when it is not complete yet.
pub(super) fn response(bytes: &[u8], to_head: bool) -> Result<Option<Response>, ()> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut head = httparse::Response::new(&mut []);
    let outcome = httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut head, bytes, &mut fields);
    let length = match outcome {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(()),
    };
    let found = read_fields(head.headers)?;
    let status = head.code.unwrap_or(0);
    if status == 101 {
        return Err(());
    }
    let interim = (100..200).contains(&status);
    let body = if to_head || interim || status == 204 || status == 304 {
        Body::NONE
    } else if found.chunked {
        Body::CHUNKED
    } else {
        found.length.map_or(Body::UntilClose, Body::Length)
    };
    let keep = !found.close && (head.version == Some(1) || found.keep_alive) && body != Body::UntilClose;
    Ok(Some(Response { length, body, keep, interim, names_connection: found.names_connection }))
}

fn read_fields(fields: &[httparse::Header<'_>]) -> Result<Fields, ()> {
    let mut found = Fields::default();
    for field in fields {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        // The length of a name decides for most fields that they do not matter here.
        match field.name.len() {
            14 if is("content-length") => {
                let value: u64 = std::str::from_utf8(field.value).ok().and_then(decimal).ok_or(())?;
                if found.length.is_some_and(|before| before != value) {
                    return Err(());
                }
                found.length = Some(value);
            }
            17 if is("transfer-encoding") => {
                if found.chunked || !field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(());
                }
                found.chunked = true;
            }
            10 if is("connection") => connection(field.value, &mut found),
            10 if is("keep-alive") => (found.names_connection, found.rewrite) = (true, true),
            16 if is("proxy-connection") => found.rewrite = true,
            7 if is("upgrade") => found.rewrite = true,
            2 if is("te") => found.rewrite = true,
            _ => {}
        }
    }
    Ok(found)
}

fn connection(value: &[u8], found: &mut Fields) {
    found.names_connection = true;
    for token in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
        if token.eq_ignore_ascii_case(b"close") {
            found.close = true;
        } else if token.eq_ignore_ascii_case(b"keep-alive") {
            found.keep_alive = true;
        } else if !token.is_empty() {
            found.rewrite = true;
        }
    }
}

fn decimal(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Copies a head without the fields that concern one connection, with `extra` (whole lines) in their place.
pub(super) fn copy_without_connection(head: &[u8], extra: &[u8], out: &mut Vec<u8>) {
    let named = |name: &[u8]| names(head).any(|token| token.eq_ignore_ascii_case(name));
    let mut lines = head.split_inclusive(|&b| b == b'\n');
    out.extend_from_slice(lines.next().unwrap_or_default());
    for line in lines {
        let name = line.split(|&b| b == b':').next().unwrap_or_default();
        let dropped = [&b"connection"[..], b"keep-alive", b"proxy-connection", b"upgrade", b"te"];
        if line.trim_ascii().is_empty() {
            break;
        }
        if !dropped.iter().any(|d| name.eq_ignore_ascii_case(d)) && !named(name) {
            out.extend_from_slice(line);
        }
    }
    out.extend_from_slice(extra);
    out.extend_from_slice(b"\r\n");
}

/// The fields that Connection names; framing fields are never among them.
fn names(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|&b| b == b'\n')
        .filter(|line| line.len() > 11 && line[..11].eq_ignore_ascii_case(b"connection:"))
        .flat_map(|line| line[11..].split(|&b| b == b',').map(<[u8]>::trim_ascii))
        .filter(|name| {
            !name.is_empty()
                && !name.eq_ignore_ascii_case(b"content-length")
                && !name.eq_ignore_ascii_case(b"transfer-encoding")
                && !name.eq_ignore_ascii_case(b"host")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_passes_as_it_is() {
        let bytes = b"GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\nGET /next";
        let head = request(bytes).unwrap().unwrap();
        assert_eq!(head.length, bytes.len() - 9);
        assert!(head.keep && head.repeatable && !head.rewrite && head.body.done());
        assert_eq!(request(&bytes[..20]), Ok(None));
    }

    #[test]
    fn lengths_that_could_be_read_in_two_ways_are_refused() {
        let refused = |fields: &str| request(format!("POST / HTTP/1.1\r\n{fields}\r\n").as_bytes());
        assert_eq!(refused("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), Err(400));
        assert_eq!(refused("Content-Length: 5\r\nContent-Length: 6\r\n"), Err(400));
        assert_eq!(refused("Content-Length: +5\r\n"), Err(400));
        assert_eq!(refused("Transfer-Encoding: gzip, chunked\r\n"), Err(400));
        assert_eq!(refused("Content-Length : 5\r\n"), Err(400));
        assert_eq!(request(b"CONNECT a:1 HTTP/1.1\r\n\r\n"), Err(405));
    }

    #[test]
    fn fields_of_one_connection_are_left_out_with_those_they_name() {
        let bytes =
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X-Own\r\nx-own: 1\r\nTE: trailers\r\nB: 2\r\n\r\n";
        let head = request(bytes).unwrap().unwrap();
        assert!(head.rewrite && !head.keep);
        let mut out = Vec::new();
        copy_without_connection(&bytes[..head.length], b"", &mut out);
        assert_eq!(out, b"GET / HTTP/1.1\r\nHost: a\r\nB: 2\r\n\r\n");
    }

    #[test]
    fn responses_end_where_the_standard_says() {
        let of = |text: &str, to_head| response(text.as_bytes(), to_head).unwrap().unwrap();
        let plain = of("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n", false);
        assert_eq!((plain.body, plain.keep, plain.names_connection), (Body::Length(7), true, true));
        assert!(of("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true).body.done());
        assert!(of("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", false).body.done());
        assert!(of("HTTP/1.1 100 Continue\r\n\r\n", false).interim);
        let old = of("HTTP/1.0 200 OK\r\n\r\n", false);
        assert_eq!((old.body, old.keep), (Body::UntilClose, false));
        assert_eq!(of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false).body, Body::CHUNKED);
        assert!(response(b"nonsense\r\n\r\n", false).is_err());
    }
}
