//! The kind of span whose time grows most with the load.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Kind of span whose self time grows most from a light load to a heavy one. The self time of a span excludes its child
/// spans. The growth of a kind of span is evidence for a verdict, and not a verdict itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SpanGrowth {
    /// Name of the service; empty if the sender gave none.
    pub service: String,
    /// Name of the spans.
    pub name: String,
    /// Index of the trial with the light load.
    pub light: usize,
    /// Index of the trial with the heavy load.
    pub heavy: usize,
    /// Mean self time per trace under the light load, microseconds.
    #[serde(with = "Figure")]
    pub light_us: f64,
    /// Mean self time per trace under the heavy load, microseconds.
    #[serde(with = "Figure")]
    pub heavy_us: f64,
    /// Growth of this kind of span, divided by the total growth of all kinds that grew, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}
