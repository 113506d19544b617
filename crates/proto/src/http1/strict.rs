//! Strict parsing of heads, for servers and intermediaries. A head is refused if two programs could understand it
//! differently. An ambiguous head could hide a request from another program (request smuggling; RFC 9112, section
//! 11.2). Both the reference server and the proxy use this parser. If the standard allows a choice between repairing
//! and refusing an input, this parser refuses.

use std::mem::MaybeUninit;

use super::fields::{Fields, Hop, Refused, bad, is_authority};
use super::head::{Framing, MAX_HEADERS};

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Length of the head in bytes.
    pub length: usize,
    /// Method of the request: any token.
    pub method: &'a str,
    /// Path of the request without scheme and authority: a path with an optional query, `*`, or an empty text for
    /// CONNECT.
    pub path: &'a str,
    /// Authority (host and port) of an absolute target, which takes precedence over Host (RFC 9112, section 3.2.2).
    pub authority: Option<&'a str>,
    /// Minor version of HTTP: 0 or 1.
    pub minor: u8,
    /// Framing of the body; `Undeclared` means that there is no body.
    pub framing: Framing,
    /// Facts about the connection, such as `Connection: close`.
    pub hop: Hop,
    /// True if an HTTP/1.1 client sent `Expect: 100-continue`.
    pub expects_continue: bool,
    /// Number of further intermediaries that may forward a TRACE or OPTIONS request.
    pub max_forwards: Option<u64>,
}

/// The head of a response.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// Length of the head in bytes.
    pub length: usize,
    /// Status code with three digits.
    pub status: u16,
    /// Minor version of HTTP: 0 or 1.
    pub minor: u8,
    /// Framing of the body. The request's method and the status determine whether there is a body at all.
    pub framing: Framing,
    /// Facts about the connection, such as `Connection: close`.
    pub hop: Hop,
}

/// Returns the total length of the empty lines before a request, bytes. A server skips empty lines before a request
/// (RFC 9112, section 2.2).
pub fn empty_lines(bytes: &[u8]) -> usize {
    bytes.chunks_exact(2).take_while(|line| *line == b"\r\n").count() * 2
}

/// Parses the head of a request. Returns `None` if the head is incomplete.
pub fn request(bytes: &[u8]) -> Result<Option<Request<'_>>, Refused> {
    // The array is not initialised, because initialising it would take longer than parsing a usual head.
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

/// Parses the head of a response. Returns `None` if the head is incomplete.
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
    // The standard permits lines that end with LF alone, without CR (RFC 9112, section 2.2). Not all programs accept
    // lines without CR. The loop does not branch on single bytes, so that the compiler can use vector instructions.
    let wrong = bytes[..length].windows(2).fold(false, |wrong, two| wrong | ((two[1] == b'\n') & (two[0] != b'\r')));
    if wrong || bytes.starts_with(b"\n") { Err(bad("a line that does not end with CR LF")) } else { Ok(Some(length)) }
}

/// Splits a target into authority and path. The form of the target depends on the method (RFC 9112, section 3.2).
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
