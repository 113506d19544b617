//! Quantities that changed under constant load.

use serde::{Deserialize, Serialize};

use crate::CounterId;
use crate::figure::Figure;

/// Quantities that may drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DriftMetric {
    /// A gauge of the server, which the field `counter` of [`Drift`] names.
    #[default]
    Level,
    /// The median response time, microseconds.
    ResponseTime,
    /// The share of requests that failed, 0 to 1.
    Failures,
    /// The completed requests per second.
    Throughput,
}

/// A quantity that grew throughout the measured window and was still growing at its end, or a throughput that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drift {
    /// Quantity whose drift this finding describes.
    #[serde(default)]
    pub of: DriftMetric,
    /// Counter of the gauge, summed over the server's processes; absent for other quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<CounterId>,
    /// Median of the quantity in the measured window.
    #[serde(with = "Figure")]
    pub median: f64,
    /// Median slope over all pairs of samples (Theil–Sen), per second.
    #[serde(with = "Figure")]
    pub per_s: f64,
    /// Significance of the trend in standard deviations (Mann–Kendall).
    #[serde(with = "Figure")]
    pub z: f64,
    /// The drift in one sentence.
    pub sentence: String,
}
