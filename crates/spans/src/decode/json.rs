//! Decodes spans from JSON. IDs are hexadecimal text. A 64-bit integer may be a JSON string or a JSON number.

use std::borrow::Cow;

use serde::Deserialize;

use super::{NoSpans, pass_on};
use crate::ReceivedSpan;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request<'a> {
    #[serde(borrow)]
    resource_spans: Vec<ResourceSpans<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceSpans<'a> {
    #[serde(borrow)]
    resource: Option<Resource<'a>>,
    #[serde(borrow)]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resource<'a> {
    #[serde(borrow)]
    attributes: Vec<Attribute<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attribute<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<AnyValue<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AnyValue<'a> {
    #[serde(borrow)]
    string_value: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ScopeSpans<'a> {
    #[serde(borrow)]
    spans: Vec<Span<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Span<'a> {
    #[serde(borrow)]
    trace_id: Cow<'a, str>,
    #[serde(borrow)]
    span_id: Cow<'a, str>,
    #[serde(borrow)]
    parent_span_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    start_time_unix_nano: Nanos,
    end_time_unix_nano: Nanos,
}

#[derive(Default, Deserialize)]
#[serde(from = "Number")]
struct Nanos(u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Digits(String),
    Whole(u64),
    Other(serde::de::IgnoredAny),
}

impl From<Number> for Nanos {
    fn from(number: Number) -> Self {
        Self(match number {
            Number::Digits(digits) => digits.parse().unwrap_or(0),
            Number::Whole(n) => n,
            Number::Other(_) => 0,
        })
    }
}

/// Decodes a request in JSON, and passes each valid span to `each`.
pub fn json(body: &[u8], each: &mut dyn FnMut(ReceivedSpan<'_>)) -> Result<(), NoSpans> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|e| NoSpans(e.to_string()))?;
    for group in request.resource_spans {
        let attributes = group.resource.unwrap_or_default().attributes;
        let named = attributes.into_iter().find(|attribute| attribute.key == "service.name");
        let service = named.and_then(|attribute| attribute.value?.string_value).unwrap_or_default();
        for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let (Some(trace), Some(id)) = (hex(&span.trace_id, 32), hex(&span.span_id, 16)) else { continue };
            let parent = span.parent_span_id.as_deref().and_then(|text| hex(text, 16)).unwrap_or(0);
            let (begin_ns, end_ns) = (span.start_time_unix_nano.0, span.end_time_unix_nano.0);
            let (id, parent, service) = (id as u64, parent as u64, Cow::Borrowed(&*service));
            pass_on(ReceivedSpan { trace, id, parent, begin_ns, end_ns, service, name: span.name }, each);
        }
    }
    Ok(())
}

/// Reads a number of exactly `digits` hexadecimal digits; `None` for any other text.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"{"resourceSpans":[{"resource":{"attributes":[
        {"key":"host.name","value":{"arrayValue":{"values":[{"intValue":"3"}]}}},
        {"key":"service.name","value":{"stringValue":"sh\u006fp"}}]},
        "scopeSpans":[{"scope":{"name":"x"},"spans":[
        {"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","parentSpanId":"EEE19B7EC3C1B173",
         "name":"GET /cart","kind":2,"startTimeUnixNano":"1544712660000000000","endTimeUnixNano":1544712661000000000,
         "attributes":[{"key":"a","value":{"kvlistValue":{}}}]},
        {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"x","name":"no ID"},
        {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175","name":"ends before it begins",
         "startTimeUnixNano":"5","endTimeUnixNano":"4"},
        {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b176","parentSpanId":"","name":"root"}
        ]}]}]}"#;

    #[test]
    fn valid_spans_are_read_and_others_are_left_out() {
        let mut all = Vec::new();
        json(REQUEST.as_bytes(), &mut |span| all.push(format!("{span:?}"))).unwrap();
        assert_eq!(all.len(), 2);
        for part in ["parent: 17213210219539181939", "\"GET /cart\"", "\"shop\"", "end_ns: 1544712661000000000"] {
            assert!(all[0].contains(part), "{part}: {}", all[0]);
        }
        assert!(all[1].contains("parent: 0") && all[1].contains("root"), "{}", all[1]);
        assert!(json(b"[", &mut |_| ()).is_err() && json(b"{}", &mut |_| ()).is_ok());
    }
}
