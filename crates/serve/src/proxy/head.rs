//! Rewriting of message heads for a gateway (reverse proxy).
//!
//! The proxy adds a Via field to each request, and replaces Host if the target is an absolute URI. The proxy removes
//! fields that concern only one connection (RFC 9110, sections 7.2, 7.6.1 and 7.6.3). A response of HTTP/1.1 without
//! fields that concern only one connection passes unchanged. `proto::http1` decides which requests are valid.

use std::io::Write as _;

use proto::http1;

use super::body::Body;

/// Facts from the head of a request, which decide how the proxy handles the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Length of the head in bytes.
    pub(super) length: usize,
    pub(super) body: Body,
    /// True if the client's connection stays open after the exchange.
    pub(super) keep: bool,
    /// True if the response has no body, because the method is HEAD.
    pub(super) is_head: bool,
    /// True if the request may be sent twice, because it has no body and its method changes nothing.
    pub(super) repeatable: bool,
    /// True if the client understands interim responses, which HTTP/1.1 requires.
    pub(super) interim: bool,
    /// True if the request must not be forwarded. For a request that must not be forwarded, the proxy has written the
    /// response itself.
    pub(super) answered: bool,
}

/// Facts from the head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    /// Length of the head in bytes.
    pub(super) length: usize,
    pub(super) body: Body,
    /// True if the upstream connection stays open after the exchange.
    pub(super) keep: bool,
    /// True for an interim response (1xx), which another response follows.
    pub(super) interim: bool,
    /// True if the head has a Connection or Keep-Alive field.
    pub(super) names_connection: bool,
    /// True if the version of the response is HTTP/1.0.
    pub(super) is_old: bool,
}

/// Status of the response to a refused request.
pub(super) type Refused = u16;

/// Parses a request's head, and writes the head for the upstream server to `out`. Returns `None` if the head is
/// incomplete.
pub(super) fn request(bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<Request>, Refused> {
    let Some(found) = http1::request(bytes).map_err(|refused| refused.status)? else { return Ok(None) };
    if found.method == "CONNECT" {
        return Err(405);
    }
    out.clear();
    let answered = matches!(found.method, "TRACE" | "OPTIONS") && found.max_forwards == Some(0);
    if answered {
        answer(&bytes[..found.length], found.method, out);
    } else {
        forward(&bytes[..found.length], &found, out);
    }
    let body = Body::of(found.framing, Body::NONE);
    Ok(Some(Request {
        length: found.length,
        body,
        keep: found.minor > 0 && !found.hop.close,
        is_head: found.method == "HEAD",
        repeatable: body.done() && matches!(found.method, "GET" | "HEAD" | "OPTIONS" | "TRACE"),
        interim: found.minor > 0,
        answered,
    }))
}

/// Parses a response's head. `to_head` is true for the response to a HEAD request. Returns `None` if the head is
/// incomplete.
pub(super) fn response(bytes: &[u8], to_head: bool) -> Result<Option<Response>, ()> {
    let Some(found) = http1::response(bytes).map_err(drop)? else { return Ok(None) };
    if found.status == 101 {
        return Err(());
    }
    let interim = (100..200).contains(&found.status);
    let none = to_head || interim || matches!(found.status, 204 | 304);
    let body = if none { Body::NONE } else { Body::of(found.framing, Body::UntilClose) };
    let keep = found.hop.persists(found.minor) && body != Body::UntilClose;
    let (names_connection, is_old) = (found.hop.named, found.minor == 0);
    Ok(Some(Response { length: found.length, body, keep, interim, names_connection, is_old }))
}

/// Replaces the version HTTP/1.0 at the beginning of a response by the proxy's own version. Each forwarded message must
/// have the version of the proxy (RFC 9112, section 2.3).
pub(super) fn set_own_version(head: &mut [u8]) {
    if head.starts_with(b"HTTP/1.0") {
        head[7] = b'1';
    }
}

/// Writes the head of a request for the upstream server.
fn forward(head: &[u8], found: &http1::Request<'_>, out: &mut Vec<u8>) {
    let via: &[u8] = if found.minor > 0 { b"Via: 1.1 loadline\r\n" } else { b"Via: 1.0 loadline\r\n" };
    let counted = found.max_forwards.filter(|_| matches!(found.method, "TRACE" | "OPTIONS"));
    if found.authority.is_none() && counted.is_none() && !found.hop.named && !found.hop.fields {
        out.extend_from_slice(&head[..head.len() - 2]);
        out.extend_from_slice(via);
        return out.extend_from_slice(b"\r\n");
    }
    let mut extra = Vec::with_capacity(64);
    let mut dropped: Vec<&[u8]> = Vec::with_capacity(2);
    if let Some(authority) = found.authority {
        dropped.push(b"host");
        let _ = write!(extra, "Host: {authority}\r\n");
    }
    if let Some(forwards) = counted {
        dropped.push(b"max-forwards");
        let _ = write!(extra, "Max-Forwards: {}\r\n", forwards.saturating_sub(1));
    }
    extra.extend_from_slice(via);
    let from = out.len();
    copy_without_connection(head, &dropped, &extra, out);
    if found.authority.is_some() {
        // In a request to an origin server (a server that is not a proxy), the target is a path (RFC 9112, section
        // 3.2.1).
        let line = out[from..].iter().position(|&b| b == b'\n').map_or(out.len(), |end| from + end + 1);
        let slash = if found.path.starts_with('/') { "" } else { "/" };
        let path = format!("{} {slash}{} HTTP/1.{}\r\n", found.method, found.path, found.minor);
        out.splice(from..line, path.into_bytes());
    }
}

/// Answers a TRACE or OPTIONS request of which the proxy is the final recipient. The response to TRACE contains the
/// received head without secrets (RFC 9110, sections 7.6.2 and 9.3.8).
fn answer(head: &[u8], method: &str, out: &mut Vec<u8>) {
    let mut echo = Vec::new();
    if method == "TRACE" {
        let secret = |line: &[u8]| {
            let name = line.split(|&b| b == b':').next().unwrap_or_default();
            [&b"authorization"[..], b"proxy-authorization", b"cookie"].iter().any(|n| name.eq_ignore_ascii_case(n))
        };
        head.split_inclusive(|&b| b == b'\n')
            .filter(|line| !secret(line))
            .for_each(|line| echo.extend_from_slice(line));
    }
    let length = echo.len();
    let _ = write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    out.extend_from_slice(&echo);
}

/// Copies a head without the fields in `dropped` and without the fields that concern only one connection. Adds the
/// header lines in `extra` to the copy.
pub(super) fn copy_without_connection(head: &[u8], dropped: &[&[u8]], extra: &[u8], out: &mut Vec<u8>) {
    let named = |name: &[u8]| names(head).any(|token| token.eq_ignore_ascii_case(name));
    let hop = [&b"connection"[..], b"keep-alive", b"proxy-connection", b"upgrade", b"te"];
    let mut lines = head.split_inclusive(|&b| b == b'\n');
    out.extend_from_slice(lines.next().unwrap_or_default());
    for line in lines {
        let name = line.split(|&b| b == b':').next().unwrap_or_default();
        if line.trim_ascii().is_empty() {
            break;
        }
        if !hop.iter().chain(dropped).any(|d| name.eq_ignore_ascii_case(d)) && !named(name) {
            out.extend_from_slice(line);
        }
    }
    out.extend_from_slice(extra);
    out.extend_from_slice(b"\r\n");
}

/// Returns the names of fields in the Connection field, except fields that determine framing or routing.
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
    use proto::http1::Framing;

    use super::*;

    fn passed(head: &str) -> (Request, String) {
        let mut out = Vec::new();
        let found = request(head.as_bytes(), &mut out).unwrap().unwrap();
        (found, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_plain_request_gets_a_via_field() {
        let head = "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
        let (found, out) = passed(&[head, "GET /next"].concat());
        assert_eq!(found.length, head.len());
        assert!(found.keep && found.repeatable && found.body.done() && !found.answered);
        assert_eq!(out, "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nVia: 1.1 loadline\r\n\r\n");
        assert_eq!(request(&head.as_bytes()[..20], &mut Vec::new()), Ok(None));
        assert_eq!(request(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", &mut Vec::new()), Err(405));
    }

    #[test]
    fn connection_fields_and_the_fields_that_they_name_are_removed() {
        let (found, out) = passed(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X-Own, Host\r\nx-own: 1\r\nTE: trailers\r\nB: 2\r\n\r\n",
        );
        assert!(!found.keep);
        assert_eq!(out, "GET / HTTP/1.1\r\nHost: a\r\nB: 2\r\nVia: 1.1 loadline\r\n\r\n");
    }

    #[test]
    fn an_absolute_target_sets_the_host() {
        let (_, out) = passed("GET http://b:8/x?y HTTP/1.1\r\nHost: a\r\nB: 2\r\n\r\n");
        assert_eq!(out, "GET /x?y HTTP/1.1\r\nB: 2\r\nHost: b:8\r\nVia: 1.1 loadline\r\n\r\n");
        assert!(passed("GET http://b?y HTTP/1.0\r\n\r\n").1.starts_with("GET /?y HTTP/1.0\r\nHost: b\r\nVia: 1.0 "));
    }

    #[test]
    fn max_forwards_limits_a_trace_request() {
        let trace = |forwards: &str| {
            passed(&format!("TRACE / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {forwards}\r\nCookie: secret\r\n\r\n"))
        };
        let (found, out) = trace("3");
        assert!(!found.answered && out.contains("\r\nMax-Forwards: 2\r\n"), "{out}");
        let (found, out) = trace("0");
        assert!(found.answered && out.starts_with("HTTP/1.1 200 OK\r\nContent-Type: message/http\r\n"), "{out}");
        assert!(out.contains("\r\n\r\nTRACE / HTTP/1.1\r\nHost: a\r\n") && !out.contains("secret"), "{out}");
        let (found, _) = passed("GET / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
        assert!(!found.answered, "the field is of TRACE and OPTIONS only");
    }

    #[test]
    fn response_bodies_end_as_the_standard_defines() {
        let of = |text: &str, to_head| response(text.as_bytes(), to_head).unwrap().unwrap();
        let plain = of("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n", false);
        assert_eq!((plain.body, plain.keep, plain.names_connection), (Body::Length(7), true, true));
        assert!(of("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true).body.done());
        assert!(of("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", false).body.done());
        assert!(of("HTTP/1.1 100 Continue\r\n\r\n", false).interim);
        let old = of("HTTP/1.0 200 OK\r\n\r\n", false);
        assert_eq!((old.body, old.keep, old.is_old, plain.is_old), (Body::UntilClose, false, true, false));
        let chunked = Body::of(Framing::Chunked, Body::NONE);
        assert_eq!(of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false).body, chunked);
        assert!(response(b"nonsense\r\n\r\n", false).is_err());
    }
}
