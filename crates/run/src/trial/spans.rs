//! Time of the server's spans (OpenTelemetry) during a trial, by name.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Maximum number of names of spans that a trial keeps.
pub const MAX_SPAN_NAMES: usize = 50;

/// Spans that began in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SpanProfile {
    /// Number of traces to which the spans belong.
    pub traces: u64,
    /// Share of the received traces that loadline kept, 0 to 1. Whenever loadline has stored too many spans, it drops
    /// half of the traces.
    #[serde(with = "Figure")]
    pub kept_share: f64,
    /// Figures of the spans by name, the largest total self time first.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_SPAN_NAMES, _, _>")]
    pub spans: Vec<SpanSum>,
}

/// Number and mean times of the spans that have the same service and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SpanSum {
    /// Name of the service; empty if the sender gave none.
    pub service: String,
    /// Name of the spans.
    pub name: String,
    /// Number of spans.
    pub count: u64,
    /// Mean self time, microseconds: the span's duration without the time in which its child spans ran.
    #[serde(with = "Figure")]
    pub self_us: f64,
    /// Mean duration, microseconds.
    #[serde(with = "Figure")]
    pub duration_us: f64,
}

impl SpanSum {
    /// Returns the total self time of all spans with this service and name, microseconds.
    pub fn total_us(&self) -> f64 {
        self.self_us * self.count as f64
    }
}

impl SpanProfile {
    /// Returns the mean self time per trace of all spans with this service and name, microseconds; `None` if there is
    /// no trace.
    pub fn self_us_per_trace(&self, service: &str, name: &str) -> Option<f64> {
        let sums = self.spans.iter().filter(|sum| sum.service == service && sum.name == name);
        let total_us: f64 = sums.map(SpanSum::total_us).sum();
        (self.traces > 0).then(|| total_us / self.traces as f64)
    }
}
