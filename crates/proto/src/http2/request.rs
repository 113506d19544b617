//! Requests of the clients of HTTP/2 and HTTP/3, checked before the load. A request without placeholders is built only
//! once.

use std::sync::Arc;

use memchr::memmem::Finder;
use run::{GrpcPlan, Protocol, RequestSet};

use super::hpack::{Blocks, FieldCoding, HPACK};
use super::request_template::RequestTemplate;
use crate::client::read;
use crate::items::{self, ExpectedStatus, Item, USER_AGENT};
use crate::memory::{Capture, captures};
use crate::template::{Source, without_placeholders};
use crate::{ProtoError, grpc_messages, http1};

/// Headers that requests of HTTP/2 and HTTP/3 must not have: headers about the connection (RFC 9113, section 8.2.2; RFC
/// 9114, section 4.2), and `host`, which `:authority` replaces.
const CONNECTION_HEADERS: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"];

/// A request that is ready to be sent.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) blocks: Blocks,
    pub(crate) body: Arc<[u8]>,
    /// Template that replaces `blocks` and `body` if values are filled into each request.
    pub(crate) filled: Option<RequestTemplate>,
    pub(crate) is_head: bool,
    pub(crate) is_idempotent: bool,
    /// True if the request's method is safe, so that the request may be sent as early data (RFC 8470, section 4).
    pub(crate) is_safe: bool,
    pub(crate) expected: ExpectedStatus,
    /// Another gRPC status, besides 0, that counts as success.
    pub(crate) expected_call_status: Option<u16>,
    /// Text that the response's body must contain.
    pub(crate) expect_text: Option<Finder<'static>>,
    /// True if the body of the response must be searched for a text or contains events.
    pub(crate) is_examined: bool,
    /// True for a gRPC call. Success of a gRPC call depends on the gRPC status.
    pub(crate) grpc: bool,
    pub(crate) capture: Vec<Capture>,
}

impl Prepared {
    /// Builds the requests of a load. If `source` is present, placeholders are replaced by values each time a request
    /// is sent.
    pub(crate) fn all(
        plan: &Protocol,
        set: Option<&RequestSet>,
        https: bool,
        source: Option<&Source>,
        coding: &FieldCoding,
    ) -> Result<Arc<[Self]>, ProtoError> {
        items::prepare(plan, set, |item| Self::new(item, https, source, coding)).map(Into::into)
    }

    fn new(item: Item, https: bool, source: Option<&Source>, coding: &FieldCoding) -> Result<Self, ProtoError> {
        http1::check_framing(&item.headers, item.body.as_deref(), source)?;
        let sample = |text: &str| if source.is_some() { without_placeholders(text) } else { text.to_owned() };
        let sampled: Vec<(String, String)> = item.headers.iter().map(|(n, value)| (n.clone(), sample(value))).collect();
        http1::check_request(&item.method, &sample(&item.path), &item.host, &sampled)?;
        let mut all = fields(&item, https);
        let says_length = item.body.is_some() && !item.has("content-length");
        let body = item.body.unwrap_or_default();
        let expect_text = (!item.expect_text.is_empty()).then(|| Finder::new(&item.expect_text).into_owned());
        let request = Self {
            is_head: item.method == "HEAD",
            is_idempotent: http1::is_idempotent(&item.method),
            is_safe: http1::is_safe(&item.method),
            expected: item.expected,
            is_examined: expect_text.is_some(),
            expect_text,
            ..Self::default()
        };
        if let Some(source) = source {
            let filled = Some(RequestTemplate::new(&all, &body, says_length, source, coding)?);
            return Ok(Self { filled, capture: captures(&item.capture, source)?, ..request });
        }
        if says_length {
            all.push(("content-length".into(), body.len().to_string()));
        }
        Ok(Self { blocks: (coding.blocks)(&all), body, ..request })
    }

    /// Builds the gRPC call of a load.
    pub(crate) fn call(plan: &Protocol, https: bool) -> Result<Self, ProtoError> {
        let Protocol::Grpc(call) = plan else {
            return Err(ProtoError::Unknown(plan.name()));
        };
        let GrpcPlan { path, host, headers, expect_status, .. } = call;
        http1::check_request("POST", path, host, headers)?;
        if !path[1..].contains('/') {
            let advice = "write the target as grpc://HOST:PORT/package.Service/Method";
            return Err(ProtoError::Invalid { what: "the path of a call", value: path.clone(), advice });
        }
        let body = body_of_call(call)?;
        http1::check_framing(headers, Some(&body), None)?;
        Ok(Self {
            blocks: (HPACK.blocks)(&fields_of_call(call, https)),
            body: body.into(),
            expected_call_status: *expect_status,
            grpc: true,
            ..Self::default()
        })
    }
}

/// Returns the header fields of a request. The pseudo-header fields come first.
fn fields(item: &Item, https: bool) -> Vec<(String, String)> {
    let scheme = if https { "https" } else { "http" };
    let given = item.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = given.map_or(&item.host, |(_, value)| value);
    let first =
        [(":method", item.method.as_str()), (":scheme", scheme), (":authority", authority), (":path", &item.path)];
    let user_agent = item.user_agent.filter(|_| !item.has("user-agent")).map(|agent| ("user-agent", agent));
    first.into_iter().chain(user_agent).map(owned).chain(own_fields(&item.headers)).collect()
}

/// Returns the header fields of a gRPC call. The pseudo-header fields come first, and the user's headers last.
fn fields_of_call(call: &GrpcPlan, https: bool) -> Vec<(String, String)> {
    let GrpcPlan { path, host, headers, gzip, deadline_s, .. } = call;
    let scheme = if https { "https" } else { "http" };
    let first = [(":method", "POST"), (":scheme", scheme), (":authority", host), (":path", path)];
    let fixed = [("content-type", "application/grpc"), ("te", "trailers")];
    let gzip = gzip.then_some([("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")]);
    let timeout = deadline_s.map(timeout_value);
    let deadline = timeout.as_deref().map(|value| ("grpc-timeout", value));
    let own: Vec<_> = own_fields(headers).filter(|(name, _)| name != "te").collect();
    let absent = |name: &str| !own.iter().any(|(own, _)| own == name);
    let fixed = fixed.into_iter().chain(gzip.into_iter().flatten()).chain(deadline).chain([("user-agent", USER_AGENT)]);
    let fixed = fixed.filter(|(name, _)| absent(name));
    first.into_iter().chain(fixed).map(owned).chain(own.iter().cloned()).collect()
}

/// Returns the user's headers as header fields, without headers about the connection.
fn own_fields(headers: &[(String, String)]) -> impl Iterator<Item = (String, String)> {
    let fields = headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    fields.filter(|(name, _)| !CONNECTION_HEADERS.contains(&name.as_str()))
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Returns the body of a call: its messages, each with its prefix.
fn body_of_call(call: &GrpcPlan) -> Result<Vec<u8>, ProtoError> {
    let invalid = |what, value: &str, advice| ProtoError::Invalid { what, value: value.into(), advice };
    if let (Some(json), true) = (&call.json, call.messages.is_empty()) {
        let advice = "it was not encoded: this command takes the encoded message, by --body FILE";
        return Err(invalid("the message", json, advice));
    }
    if let (Some(file), Some(_)) = (&call.body_file, &call.json) {
        return Err(invalid("the message file", file, "give either --body or --grpc-json"));
    }
    let framed = |message: &[u8]| {
        let long = |_| invalid("a message", &format!("{} bytes", message.len()), "gRPC has messages of at most 4 GiB");
        grpc_messages::framed(message, call.gzip).map_err(long)
    };
    if call.messages.is_empty() {
        let file = call.body_file.as_deref();
        return framed(&file.map(|file| read("the message", file)).transpose()?.unwrap_or_default());
    }
    let mut body = Vec::new();
    for text in &call.messages {
        let message = run::from_base64(text).ok_or_else(|| invalid("an encoded message", text, "it is no base64"))?;
        body.extend(framed(&message)?);
    }
    Ok(body)
}

/// Returns the value of the header `grpc-timeout`: at most eight digits and a unit (`u` microseconds, `m` milliseconds,
/// `S` seconds). Source: "gRPC over HTTP2".
fn timeout_value(seconds: f64) -> String {
    const MAX_DIGITS: f64 = 99_999_999.0;
    let units = [(1e6, 'u'), (1e3, 'm'), (1.0, 'S')];
    let (per_s, unit) = units.into_iter().find(|(per_s, _)| seconds * per_s <= MAX_DIGITS).unwrap_or((1.0, 'S'));
    format!("{}{unit}", (seconds * per_s).clamp(1.0, MAX_DIGITS).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_has_at_most_eight_digits() {
        let told = [0.000_000_1, 0.05, 2.0, 100.0, 100_000.0, 1e7].map(timeout_value);
        assert_eq!(told, ["1u", "50000u", "2000000u", "100000m", "100000S", "10000000S"]);
    }

    #[test]
    fn a_call_has_its_messages_one_after_the_other() {
        let messages = ["AQI=", ""].map(str::to_owned).to_vec();
        let call = GrpcPlan { messages, json: Some("[]".into()), ..GrpcPlan::default() };
        assert_eq!(body_of_call(&call).unwrap(), [0, 0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0]);
        let compressed = body_of_call(&GrpcPlan { gzip: true, ..call.clone() }).unwrap();
        assert_eq!(grpc_messages::messages(&compressed, 99).unwrap(), [vec![1, 2], Vec::new()]);
        let fails = |call| body_of_call(&call).unwrap_err().to_string();
        assert!(fails(GrpcPlan { messages: Vec::new(), ..call.clone() }).contains("--body FILE"));
        assert!(fails(GrpcPlan { body_file: Some("x".into()), ..call.clone() }).contains("either --body or"));
        assert!(fails(GrpcPlan { messages: vec!["?".into()], ..call }).contains("base64"));
    }
}
