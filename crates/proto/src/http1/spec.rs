//! Entry of HTTP/1.1 in the table of protocols.

use run::{HttpPlan, Protocol, RequestSet};

use super::ClientPlan;
use crate::ProtoError;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "http1",
    help: "HTTP/1.1; the status, length and framing of every response are checked",
    schemes: &[
        Scheme { name: "http", port: Some(80), path: true, tls: false },
        Scheme { name: "https", port: Some(443), path: true, tls: true },
    ],
    alpn: "http/1.1",
    defaults: Protocol::default,
    flags: &[
        flag(
            "http2",
            "",
            "HTTP/2 instead of HTTP/1.1: by ALPN for https://, with prior knowledge for http://",
            FlagValue::Switch(switch_to_http2),
        ),
        flag("http3", "", "HTTP/3 over QUIC instead of HTTP/1.1, for https://", FlagValue::Switch(switch_to_http3)),
        flag(
            "body",
            "FILE",
            "File with the request's body; the default method is then POST",
            FlagValue::Text(set_body),
        ),
        flag("method", "METHOD", "HTTP method", FlagValue::Text(set_method)),
        Flag {
            short: Some('H'),
            ..flag(
                "header",
                "K: V",
                "HTTP header, repeatable; $env:NAME inserts an environment variable, @FILE reads a file with one header per line",
                FlagValue::Pair(add_header),
            )
        },
        Flag { requires: Some("body"), ..flag("body-type", "TYPE", BODY_TYPE, FlagValue::Text(set_body_type)) },
        flag(
            "expect-status",
            "CODE",
            "The only right status of an answer [default: 2xx or 3xx]",
            FlagValue::Number(set_status),
        ),
    ],
    complete,
    takes: |other| other.http().is_some(),
    pad,
    set_target,
    one_request,
    canned,
    ..ProtocolSpec::DEFAULT
};

const BODY_TYPE: &str =
    "Content-Type of the body [default: by the end of the file's name, such as application/json for .json]";

const fn flag(name: &'static str, value: &'static str, help: &'static str, set: FlagValue) -> Flag {
    Flag { name, short: None, requires: None, value, help, set }
}

/// Checks the user's settings of HTTP/1.1, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol, requests: Option<&RequestSet>) -> Result<ClientPlan, ProtoError> {
    ClientPlan::with_set(plan, requests)
}

fn set_body(plan: &mut Protocol, file: &str) {
    if let Some(request) = plan.http_mut() {
        request.body_file = Some(file.into());
        if request.method == "GET" {
            request.method = "POST".into();
        }
    }
}

/// Sets the Content-Type of the body, unless the user gave this header.
fn set_body_type(plan: &mut Protocol, kind: &str) {
    add_if_absent(plan, "Content-Type", kind);
}

fn complete(plan: &mut Protocol) {
    if let Some(kind) = plan.http().and_then(|request| request.body_file.as_deref()).map(super::content_type) {
        add_if_absent(plan, "Content-Type", kind);
    }
}

fn add_if_absent(plan: &mut Protocol, header: &str, value: &str) {
    if let Some(HttpPlan { headers, .. }) = plan.http_mut()
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header))
    {
        headers.push((header.into(), value.into()));
    }
}

fn set_method(plan: &mut Protocol, name: &str) {
    plan.http_mut().into_iter().for_each(|request| request.method = name.into());
}

fn add_header(plan: &mut Protocol, name: &str, value: &str) {
    plan.http_mut().into_iter().for_each(|request| request.headers.push((name.into(), value.into())));
}

fn set_status(plan: &mut Protocol, status: u16) {
    plan.http_mut().into_iter().for_each(|request| request.expect_status = Some(status));
}

fn set_target(plan: &mut Protocol, authority: &str, target: &str) {
    if let Some(request) = plan.http_mut() {
        request.host = authority.into();
        request.path = if target.starts_with('/') { target.into() } else { format!("/{target}") };
    }
}

fn one_request(plan: &mut Protocol) {
    add_if_absent(plan, "Connection", "close");
}

fn canned(plan: &Protocol, _request: &[u8]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nServer: null\r\nContent-Type: text/html\r\nContent-Length: 1294\r\n\r\n";
    let has_body = plan.http().is_none_or(|request| request.method != "HEAD");
    let mut page = head.as_bytes().to_vec();
    page.resize(page.len() + if has_body { 1294 } else { 0 }, b'x');
    page
}

fn switch_to_http2(plan: &mut Protocol) {
    *plan = to_http2(std::mem::take(plan));
}

fn switch_to_http3(plan: &mut Protocol) {
    *plan = to_http3(std::mem::take(plan));
}

const PADDING: &str = "X-Padding";

/// Lengthens requests by a header of `bytes` bytes, which include the header's name and its line end. Does nothing and
/// returns false for HTTP/2 and HTTP/3, where a constant header would be sent as a single byte.
fn pad(plan: &mut Protocol, bytes: usize) -> bool {
    let Protocol::Http1(request) = plan else { return false };
    let around = PADDING.len() + ": \r\n".len();
    request.headers.push((PADDING.into(), "x".repeat(bytes.saturating_sub(around).max(1))));
    true
}

/// Converts the settings of an HTTP/1.1 request to HTTP/2.
pub(crate) fn to_http2(plan: Protocol) -> Protocol {
    match plan {
        Protocol::Http1(request) => Protocol::Http2(request),
        other => other,
    }
}

/// Converts the settings of an HTTP/1.1 request to HTTP/3.
pub(crate) fn to_http3(plan: Protocol) -> Protocol {
    match plan {
        Protocol::Http1(request) => Protocol::Http3(request),
        other => other,
    }
}

/// Converts the settings of an HTTP/2 or HTTP/3 request to HTTP/1.1, for measurements without a network, where each
/// connection has only one prepared answer.
pub(crate) fn to_http1(plan: Protocol) -> Protocol {
    match plan {
        Protocol::Http2(request) | Protocol::Http3(request) => Protocol::Http1(request),
        other => other,
    }
}
