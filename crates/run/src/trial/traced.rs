//! Requests with a trace context (W3C Trace Context). With the trace context, a tracing system finds the server's work
//! for a request.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Maximum number of requests with a trace context that a trial keeps.
pub const MAX_TRACES: usize = 100;

/// A request with a trace context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TracedRequest {
    /// ID of the trace: 32 hexadecimal digits.
    pub trace_id: String,
    /// ID of the span that the header `traceparent` names as the parent: 16 hexadecimal digits.
    pub span_id: String,
    /// Response time, or time until the failure, microseconds.
    #[serde(with = "Figure")]
    pub latency_us: f64,
    /// Time at which the request ended, seconds since the load began.
    #[serde(with = "Figure")]
    pub ended_s: f64,
    /// Status of the answer, if the protocol has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// True if the request failed without an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl TracedRequest {
    /// Returns all texts, so that the caller can make them safe to show.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.trace_id, &mut self.span_id].into_iter().chain(&mut self.status)
    }

    /// Adds the requests of another thread or agent, and keeps the slowest requests.
    pub fn merge(all: &mut Vec<Self>, others: Vec<Self>) {
        all.extend(others);
        all.sort_by(|a, b| b.latency_us.total_cmp(&a.latency_us));
        all.truncate(MAX_TRACES);
    }
}
