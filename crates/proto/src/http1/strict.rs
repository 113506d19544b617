//! Strict parsing of heads for servers and intermediaries. Anything that two readers could understand differently is
//! refused, so that nobody can hide a request from one of them (request smuggling; RFC 9112, section 11.2). The
//! reference server and the proxy both use this parser. Input that the standard allows to repair or to refuse is
//! refused.

use std::mem::MaybeUninit;

use super::fields::{Fields, Hop, Refused, bad, is_authority};
use super::head::{Framing, MAX_HEADERS};

/// A request head.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Bytes of the head.
    pub length: usize,
    /// Method: any token.
    pub method: &'a str,
    /// Requested path without scheme and authority: a path with its query, `*`, or empty for CONNECT.
    pub path: &'a str,
    /// Scheme and authority of an absolute target, which overrides Host (RFC 9112, section 3.2.2).
    pub authority: Option<&'a str>,
    /// Minor version: 0 or 1.
    pub minor: u8,
    /// Framing of the body; `Undeclared` means no body.
    pub framing: Framing,
    /// The connection fields.
    pub hop: Hop,
    /// True for `Expect: 100-continue` from a client of HTTP/1.1.
    pub expects_continue: bool,
    /// Number of intermediaries that may still forward a TRACE or OPTIONS.
    pub max_forwards: Option<u64>,
}

/// A response head.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// Bytes of the head.
    pub length: usize,
    /// Status of three digits.
    pub status: u16,
    /// Minor version: 0 or 1.
    pub minor: u8,
    /// Framing of a body. Request and status also decide whether there is a body.
    pub framing: Framing,
    /// The connection fields.
    pub hop: Hop,
}

/// Returns the bytes of empty lines before a request, which are skipped (RFC 9112, section 2.2).
pub fn empty_lines(bytes: &[u8]) -> usize {
    bytes.chunks_exact(2).take_while(|line| *line == b"\r\n").count() * 2
}

/// Parses a request head. Returns `None` if the head is incomplete.
pub fn request(bytes: &[u8]) -> Result<Option<Request<'_>>, Refused> {
    // Left uninitialised: initialising would cost more than parsing the usual head.
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut []);
    let Some(length) = complete(head.parse_with_uninit_headers(bytes, &mut lines), bytes)? else { return Ok(None) };
    let (Some(method), Some(target), Some(minor)) = (head.method, head.path, head.version) else {
        return Err(bad("the request line"));
    };
    let found = Fields::read(head.headers)?;
    let framing = found.framing(minor)?;
    let (authority, path) = split_target(method, target)?;
    if found.hosts > 1 || (found.hosts == 0 && minor > 0) {
        return Err(bad("there has to be one Host"));
    }
    if method == "TRACE" && framing != Framing::Undeclared {
        return Err(bad("TRACE has no body"));
    }
    let expects_continue = found.expects_continue && minor > 0;
    let (hop, max_forwards) = (found.hop, found.max_forwards);
    Ok(Some(Request { length, method, path, authority, minor, framing, hop, expects_continue, max_forwards }))
}

/// Parses a response head. Returns `None` if the head is incomplete.
pub fn response(bytes: &[u8]) -> Result<Option<Response>, Refused> {
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut []);
    let read = httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut head, bytes, &mut lines);
    let Some(length) = complete(read, bytes)? else { return Ok(None) };
    let (Some(status), Some(minor)) = (head.code, head.version) else { return Err(bad("the status line")) };
    let found = Fields::read(head.headers)?;
    Ok(Some(Response { length, status, minor, framing: found.framing(minor)?, hop: found.hop }))
}

fn complete(read: httparse::Result<usize>, bytes: &[u8]) -> Result<Option<usize>, Refused> {
    let length = match read {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused { status: 431, why: "too many fields" }),
        Err(httparse::Error::Version) => return Err(Refused { status: 505, why: "neither HTTP/1.0 nor HTTP/1.1" }),
        Err(_) => return Err(bad("the lines of the head")),
    };
    // A line may end with LF alone (RFC 9112, section 2.2), but other readers may not accept this. The loop has no
    // branch per byte, so that the compiler vectorises it.
    let wrong = bytes[..length].windows(2).fold(false, |wrong, two| wrong | ((two[1] == b'\n') & (two[0] != b'\r')));
    if wrong || bytes.starts_with(b"\n") { Err(bad("a line that does not end with CR LF")) } else { Ok(Some(length)) }
}

/// Splits a target into authority and path in the form that its method allows (RFC 9112, section 3.2).
fn split_target<'a>(method: &str, target: &'a str) -> Result<(Option<&'a str>, &'a str), Refused> {
    const INVALID_TARGET: Refused = bad("the target is neither a path nor an absolute URI, nor * with OPTIONS");
    if target.bytes().any(|b| b == b'#' || b <= b' ' || b == 0x7f) {
        return Err(INVALID_TARGET);
    }
    if method == "CONNECT" {
        return if is_authority(target) { Ok((Some(target), "")) } else { Err(INVALID_TARGET) };
    }
    if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
        return Ok((None, target));
    }
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let begin = target.get(..scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then(|| &target[scheme.len()..])
    });
    let rest = rest.ok_or(INVALID_TARGET)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if is_authority(authority) { Ok((Some(authority), path)) } else { Err(INVALID_TARGET) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_a_port() {
        for right in ["a", "a.b:80", "127.0.0.1:8080", "[::1]:1", "[::1]", "a%2d", "a:"] {
            assert!(is_authority(right), "{right}");
        }
        for wrong in ["", ":80", "a:b", "a:99999", "u@a", "a b", "a/b", "[::1", "[x]:1", "[::1]80", "a%2", "::1"] {
            assert!(!is_authority(wrong), "{wrong}");
        }
    }

    #[test]
    fn targets_have_the_form_of_their_method() {
        assert_eq!(split_target("GET", "/a?b"), Ok((None, "/a?b")));
        assert_eq!(split_target("GET", "HTTP://h:1/x"), Ok((Some("h:1"), "/x")));
        assert_eq!(split_target("GET", "http://h?q"), Ok((Some("h"), "?q")));
        assert_eq!(split_target("OPTIONS", "*"), Ok((None, "*")));
        for (method, target) in [("GET", "*"), ("GET", "x"), ("GET", "/a#b"), ("GET", "http:///x"), ("CONNECT", "/")] {
            assert!(split_target(method, target).is_err(), "{method} {target}");
        }
    }

    #[test]
    fn a_head_ends_at_its_blank_line_and_leading_blank_lines_are_counted() {
        let head = b"GET / HTTP/1.1\r\nHost: h\r\n\r\nrest";
        assert_eq!(request(head).unwrap().unwrap().length, head.len() - 4);
        assert!((0..head.len() - 4).all(|cut| request(&head[..cut]).unwrap().is_none()));
        assert_eq!((empty_lines(b"\r\n\r\nGET"), empty_lines(b"\r\n\r"), empty_lines(b"\nGET")), (4, 2, 0));
    }
}
