//! The client's request: checked and put together once, then copied for every send.

use std::sync::Arc;

use run::Protocol;

use crate::ProtoError;
use crate::client::read;

/// A request as it goes over the wire.
pub(super) struct Request {
    pub(super) bytes: Arc<[u8]>,
    pub(super) is_head: bool,
    pub(super) expect_status: Option<u16>,
}

/// Puts the request of a plan together.
pub(super) fn build(plan: &Protocol) -> Result<Request, ProtoError> {
    let Protocol::Http1 { method, path, host, headers, body_file, expect_status } = plan else {
        return Err(ProtoError::Unknown(plan.name()));
    };
    check("method", method, "give a token such as GET", token)?;
    check("path", path, "start it with / and percent-encode spaces", |p| {
        (p.starts_with('/') || p == "*") && p.bytes().all(|b| b > b' ' && b != 0x7f)
    })?;
    check("host", host, "give a host name", field_value)?;
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let given = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    if !given("host") {
        line(&mut text, "Host", host);
    }
    if !given("user-agent") {
        line(&mut text, "User-Agent", concat!("loadline/", env!("CARGO_PKG_VERSION")));
    }
    for (name, value) in headers {
        check("header name", name, "give a token such as X-Name", token)?;
        check("header value", value, "leave out line ends and control characters", field_value)?;
        line(&mut text, name, value);
    }
    let body = body_file.as_deref().map(|f| read("the request body", f)).transpose()?;
    if let Some(body) = body.as_ref().filter(|_| !given("content-length")) {
        line(&mut text, "Content-Length", &body.len().to_string());
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body.as_deref().unwrap_or_default());
    Ok(Request { bytes: bytes.into(), is_head: method == "HEAD", expect_status: *expect_status })
}

fn line(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push_str(": ");
    text.push_str(value);
    text.push_str("\r\n");
}

fn check(what: &'static str, value: &str, advice: &'static str, ok: fn(&str) -> bool) -> Result<(), ProtoError> {
    if ok(value) { Ok(()) } else { Err(ProtoError::Invalid { what, value: value.into(), advice }) }
}

fn token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn field_value(text: &str) -> bool {
    text.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<Request, ProtoError> {
        build(&Protocol::Http1 {
            method: method.into(),
            path: path.into(),
            host: "h:1".into(),
            headers: headers.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            body_file: None,
            expect_status: None,
        })
    }

    #[test]
    fn a_request_is_put_together() {
        let r = http("GET", "/a?b", &[("X-A", "b"), ("User-Agent", "me")]).unwrap();
        assert_eq!(&*r.bytes, b"GET /a?b HTTP/1.1\r\nHost: h:1\r\nX-A: b\r\nUser-Agent: me\r\n\r\n");
    }

    #[test]
    fn nothing_can_be_smuggled_in() {
        assert!(http("GE T", "/", &[]).is_err());
        assert!(http("GET", "/ HTTP/1.1\r\nX: y", &[]).is_err());
        assert!(http("GET", "/", &[("X", "a\r\nY: b")]).is_err());
        assert!(http("GET", "/", &[("X:", "a")]).is_err());
    }
}
