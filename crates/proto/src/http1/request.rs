//! Requests of the HTTP/1 client, checked before the load. A request without placeholders is built once, and copied
//! each time it is sent.

use memchr::memmem::Finder;
use run::{Protocol, RequestSet, is_token};

use crate::ProtoError;
use crate::items::{self, ExpectedStatus, Item};
use crate::memory::{Capture, captures};
use crate::template::values::decimal;
use crate::template::{Piece, Source, without_placeholders};

/// A request that is ready to be sent, and the expected response. In a large mix, many requests compete for the CPU's
/// cache. To save cache, the struct fits into one cache line, and rarely used parts are stored elsewhere.
#[repr(align(64))]
pub(super) struct Request {
    /// All bytes of the request; empty if values are filled in each time it is sent.
    pub(super) bytes: Box<[u8]>,
    /// Position in `bytes` after the last header.
    pub(super) headers_end: u32,
    pub(super) is_head: bool,
    pub(super) is_idempotent: bool,
    /// True if the body of the response must be examined: to find a text, values to capture, or events.
    pub(super) is_examined: bool,
    pub(super) expected: ExpectedStatus,
    /// Text that the response's body must contain.
    pub(super) expect_text: Option<Box<Finder<'static>>>,
    pub(super) filled: Option<Box<RequestTemplate>>,
    pub(super) capture: Box<[Capture]>,
}

/// A request with placeholders, which are replaced by values each time the request is sent.
pub(super) struct RequestTemplate {
    /// Head without its Cookie and Content-Length headers, which are appended later.
    pub(super) head: Vec<Piece>,
    /// Value of the request's own header `Cookie`.
    pub(super) cookie: Vec<Piece>,
    pub(super) body: Vec<Piece>,
    /// True if the program adds a Content-Length header to the request's own headers.
    pub(super) says_length: bool,
}

/// Builds the requests of a load. If `source` is present, placeholders are replaced by values each time a request is
/// sent.
pub(super) fn build(
    plan: &Protocol,
    set: Option<&RequestSet>,
    source: Option<&Source>,
) -> Result<Vec<Request>, ProtoError> {
    items::prepare(plan, set, |item| one(item, source))
}

impl RequestTemplate {
    /// Divides a request into fixed text and placeholders. `lines` are its header lines without Cookie headers.
    fn new(item: &Item, lines: &str, says_length: bool, source: &Source) -> Result<Self, ProtoError> {
        let mut head = vec![Piece::Text(format!("{} ", item.method).into_bytes().into())];
        head.extend(source.cut(&item.path, true)?);
        head.push(Piece::Text(Box::from(&b" HTTP/1.1\r\n"[..])));
        head.extend(source.cut(lines, false)?);
        let cookies = item.headers.iter().filter(|(name, _)| is_cookie(name)).map(|(_, value)| value.as_str());
        let cookie = source.cut(&cookies.collect::<Vec<_>>().join("; "), false)?;
        let body = item.body.as_deref().unwrap_or_default();
        let body = match std::str::from_utf8(body) {
            Ok(text) => source.cut(text, false)?,
            Err(_) => vec![Piece::Text(Box::from(body))],
        };
        Ok(Self { head, cookie, body, says_length })
    }
}

fn one(item: Item, source: Option<&Source>) -> Result<Request, ProtoError> {
    check_framing(&item.headers, item.body.as_deref(), source)?;
    let sample = |text: &str| if source.is_some() { without_placeholders(text) } else { text.to_owned() };
    let sampled: Vec<(String, String)> =
        item.headers.iter().map(|(name, value)| (name.clone(), sample(value))).collect();
    check_request(&item.method, &sample(&item.path), &item.host, &sampled)?;
    let lines = header_lines(&item, source.is_some());
    // Methods that usually have a body get a Content-Length even if the body is empty.
    let bodied = item.body.is_some() || ["POST", "PUT", "PATCH"].contains(&&*item.method);
    let says_length = bodied && !item.has("content-length");
    let expect_text = (!item.expect_text.is_empty()).then(|| Box::new(Finder::new(&item.expect_text).into_owned()));
    let known = Request {
        bytes: Box::default(),
        headers_end: 0,
        filled: None,
        is_head: item.method == "HEAD",
        is_idempotent: is_idempotent(&item.method),
        is_examined: expect_text.is_some() || !item.capture.is_empty(),
        expected: item.expected,
        expect_text,
        capture: Box::default(),
    };
    if let Some(source) = source {
        let filled = Some(Box::new(RequestTemplate::new(&item, &lines, says_length, source)?));
        return Ok(Request { filled, capture: captures(&item.capture, source)?.into(), ..known });
    }
    let body = item.body.unwrap_or_default();
    let mut bytes = format!("{} {} HTTP/1.1\r\n{lines}", item.method, item.path).into_bytes();
    end_head(&mut bytes, says_length.then_some(body.len()));
    let headers_end = (bytes.len() - b"\r\n".len()) as u32;
    bytes.extend_from_slice(&body);
    Ok(Request { bytes: bytes.into(), headers_end, ..known })
}

/// Returns the header lines of a request. In a template, the Cookie headers are left out, because they are added each
/// time the request is sent.
fn header_lines(item: &Item, is_template: bool) -> String {
    let mut lines = String::new();
    if !item.has("host") {
        line(&mut lines, "Host", &item.host);
    }
    let user_agent = item.user_agent.filter(|_| !item.has("user-agent"));
    user_agent.into_iter().for_each(|agent| line(&mut lines, "User-Agent", agent));
    for (name, value) in item.headers.iter().filter(|(name, _)| !(is_template && is_cookie(name))) {
        line(&mut lines, name, value);
    }
    lines
}

fn is_cookie(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie")
}

/// Returns true if a request with this method may be sent again even if the server may have processed it (RFC 9110,
/// section 9.2.2).
pub(crate) fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}

/// Returns true if a request with this method asks for no change on the server (RFC 9110, section 9.2.1).
pub(crate) fn is_safe(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE"].contains(&method)
}

/// Writes the end of a head: a Content-Length header if `length` is given, and the empty line.
pub(super) fn end_head(to: &mut Vec<u8>, length: Option<usize>) {
    if let Some(length) = length {
        to.extend_from_slice(b"Content-Length: ");
        decimal(length as u64, to);
        to.extend_from_slice(b"\r\n");
    }
    to.extend_from_slice(b"\r\n");
}

/// Checks that method, path, host and headers can be sent unchanged.
pub(crate) fn check_request(
    method: &str,
    path: &str,
    host: &str,
    headers: &[(String, String)],
) -> Result<(), ProtoError> {
    check("method", method, "give a token such as GET", is_token)?;
    check("path", path, "start it with / and percent-encode spaces", |p| {
        (p.starts_with('/') || p == "*") && p.bytes().all(|b| b > b' ' && b != 0x7f)
    })?;
    check("host", host, "give a host name", field_value)?;
    for (name, value) in headers {
        check("header name", name, "give a token such as X-Name", is_token)?;
        if !field_value(value) {
            // The error contains only the name of the header, because the value may be secret.
            return Err(unfit("the value of header", name, "leave out line ends and control characters"));
        }
    }
    Ok(())
}

/// Checks that the headers correctly describe the body. If the Content-Length were wrong, the server would take the
/// next request as part of this request, or wait for bytes that never come.
pub(crate) fn check_framing(
    headers: &[(String, String)],
    body: Option<&[u8]>,
    source: Option<&Source>,
) -> Result<(), ProtoError> {
    let named = |wanted: &'static str| headers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
    if named("transfer-encoding").next().is_some() {
        return Err(unfit("the header", "Transfer-Encoding", "leave it out: bodies are sent whole, not in chunks"));
    }
    let body = body.unwrap_or_default();
    let varies = source.is_some_and(|source| source.fills(body));
    let is_length = |value: &str| value.bytes().all(|b| b.is_ascii_digit()) && value.parse() == Ok(body.len());
    let mut stated = named("content-length");
    match (stated.next(), stated.next()) {
        (None, _) => Ok(()),
        (Some((_, value)), None) if !varies && is_length(value) => Ok(()),
        (Some((_, value)), _) => Err(ProtoError::Invalid {
            what: "Content-Length",
            value: value.clone(),
            advice: "the body has another length; leave the header out: the length of the body is stated anyway",
        }),
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push_str(": ");
    text.push_str(value);
    text.push_str("\r\n");
}

fn check(what: &'static str, value: &str, advice: &'static str, ok: fn(&str) -> bool) -> Result<(), ProtoError> {
    if ok(value) { Ok(()) } else { Err(unfit(what, value, advice)) }
}

fn unfit(what: &'static str, value: &str, advice: &'static str) -> ProtoError {
    ProtoError::Invalid { what, value: value.into(), advice }
}

fn field_value(text: &str) -> bool {
    text.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f))
}

#[cfg(test)]
mod tests {
    use run::HttpPlan;

    use super::*;

    fn http(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<Request, ProtoError> {
        let headers = headers.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        let (method, path, host) = (method.into(), path.into(), "h:1".into());
        let plan = Protocol::Http1(HttpPlan { method, path, host, headers, ..HttpPlan::default() });
        Ok(build(&plan, None, None)?.remove(0))
    }

    #[test]
    fn a_request_contains_its_line_host_and_headers() {
        let r = http("GET", "/a?b", &[("X-A", "b"), ("User-Agent", "me")]).unwrap();
        assert_eq!(&*r.bytes, b"GET /a?b HTTP/1.1\r\nHost: h:1\r\nX-A: b\r\nUser-Agent: me\r\n\r\n");
    }

    #[test]
    fn headers_that_contradict_the_body_are_refused() {
        let post = |headers: &[(&str, &str)], body: &str, templates: bool| {
            let headers = headers.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
            let (method, body) = ("POST".into(), body.into());
            let one = run::RequestPlan { method, headers, body, ..run::RequestPlan::default() };
            let set = RequestSet { requests: vec![one], templates, ..RequestSet::default() };
            let plan = Protocol::Http1(HttpPlan { host: "h".into(), ..HttpPlan::default() });
            let source = templates.then(|| Source::new(&set));
            build(&plan, Some(&set), source.as_ref()).map(|_| ()).map_err(|e| e.to_string())
        };
        for length in ["4", "6", "+5", "5, 5", "", "99999999999999999999999"] {
            assert!(
                post(&[("content-length", length)], "abcde", false).unwrap_err().contains("Content-Length"),
                "{length}"
            );
        }
        assert!(post(&[("Transfer-Encoding", "chunked")], "abcde", false).unwrap_err().contains("Transfer-Encoding"));
        assert!(post(&[("Content-Length", "5"), ("Content-Length", "5")], "abcde", false).is_err());
        assert!(
            post(&[("Content-Length", "7")], "{{seq}}", true).is_err(),
            "the length is known only when it is filled"
        );
        assert_eq!(post(&[("Content-Length", "5")], "abcde", false), Ok(()));
        assert_eq!(post(&[("Content-Length", "7")], "{{seq}}", false), Ok(()));
    }

    #[test]
    fn a_request_may_have_no_user_agent() {
        let one = run::RequestPlan { without_user_agent: true, ..run::RequestPlan::default() };
        let set = RequestSet { requests: vec![one], ..RequestSet::default() };
        let plan = Protocol::Http1(HttpPlan { host: "h".into(), ..HttpPlan::default() });
        let request = build(&plan, Some(&set), None).unwrap().remove(0);
        assert_eq!(&*request.bytes, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    }

    #[test]
    fn line_breaks_and_colons_cannot_inject_headers() {
        assert!(http("GE T", "/", &[]).is_err());
        assert!(http("GET", "/ HTTP/1.1\r\nX: y", &[]).is_err());
        assert!(http("GET", "/", &[("X", "a\r\nY: b")]).is_err());
        assert!(http("GET", "/", &[("X:", "a")]).is_err());
    }
}
