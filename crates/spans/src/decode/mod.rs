//! Decodes requests that export spans. Source: OpenTelemetry protocol 1.x, `trace.proto` and "JSON Protobuf Encoding".

mod json;
mod protobuf;

pub use json::json;
pub use protobuf::protobuf;

use crate::ReceivedSpan;

/// Error for input that is not a valid request to export spans. The value is the reason why the input is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not spans of OTLP: {0}")]
pub struct NoSpans(pub String);

/// Passes a span to `each`, if the span and its trace have an ID and the span does not end before it begins.
fn pass_on(span: ReceivedSpan<'_>, each: &mut dyn FnMut(ReceivedSpan<'_>)) {
    if span.trace != 0 && span.id != 0 && span.begin_ns <= span.end_ns {
        each(span);
    }
}
