//! Streams of events: answers that consist of events, which the server sends over time.

use serde::{Deserialize, Serialize};

use super::error::{PlanError, range};

/// Default of [`StreamPlan::stall_s`], the longest normal time between two events, seconds. A pause of more than a
/// second interrupts the thoughts of a person who waits (J. Nielsen, *Usability Engineering*, 1993, chapter 5).
const STALL_S: f64 = 1.0;

/// Settings for reading answers as streams of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct StreamPlan {
    /// Format of the events.
    pub format: StreamFormat,
    /// Text of the event that ends a stream, such as `[DONE]`. loadline does not count this event. A stream that ends
    /// without this event counts as broken. The text is empty if a stream ends where its answer ends.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// Longest time between two events of a stream that counts as normal, seconds. A stream with a longer gap between
    /// events counts as stalled.
    pub stall_s: f64,
}

impl Default for StreamPlan {
    fn default() -> Self {
        Self { format: StreamFormat::default(), end: String::new(), stall_s: STALL_S }
    }
}

impl StreamPlan {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let is_time = self.stall_s > 0.0 && self.stall_s.is_finite();
        range(is_time, "load.stream.stall_s", self.stall_s, "give a time above zero")
    }
}

/// Format of a stream's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamFormat {
    /// Server-sent events. Each event ends at an empty line.
    #[default]
    Sse,
    /// Lines of JSON or of other text.
    Ndjson,
    /// Chunks of HTTP/1.1 and DATA frames of HTTP/2.
    Chunks,
    /// Messages that the server sends in answer to the single request of a gRPC call.
    Grpc,
    /// WebSocket messages after the request's message, until the server closes the connection or sends the text in
    /// `end`.
    Ws,
}

impl StreamFormat {
    /// All formats of streams.
    pub const ALL: [Self; 5] = [Self::Sse, Self::Ndjson, Self::Chunks, Self::Grpc, Self::Ws];

    /// Returns the name, as in `--stream NAME`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::Ndjson => "ndjson",
            Self::Chunks => "chunks",
            Self::Grpc => "grpc",
            Self::Ws => "ws",
        }
    }
}
