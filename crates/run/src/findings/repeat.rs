//! Repeats: one run makes its whole load several times. Only repeats show how much the figures vary from one load to
//! the next. The decisive trial of a run is the load that represents the run.

use serde::{Deserialize, Serialize};

use crate::LowerBounds;
use crate::figure::Figure;

/// Maximum number of times that one run may make its whole load.
pub const MAX_REPEATS: u32 = 100;

/// Result of one repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Repeat {
    /// Number of trials in the repeat.
    pub trials: usize,
    /// Good responses per second in the decisive trial of the repeat.
    #[serde(with = "Figure")]
    pub completed_rate: f64,
    /// Median response time in the decisive trial of the repeat, microseconds.
    #[serde(with = "Figure")]
    pub p50_us: f64,
    /// 99th percentile of the response time in the decisive trial of the repeat, microseconds.
    #[serde(with = "Figure")]
    pub p99_us: f64,
    /// Names of the percentiles that are lower bounds, because too many requests were not answered.
    #[serde(skip_serializing_if = "LowerBounds::is_empty")]
    pub at_least: LowerBounds,
    /// Capacity, requests per second; absent if the server met the objective at none of the tested rates.
    pub capacity: Option<f64>,
    /// True if `capacity` is only a lower bound, for example because the search of this repeat ended too early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Lower end of the 95 % interval of `capacity`, computed only from the measured windows of this repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of `capacity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Bottleneck of this repeat, one ID of [`crate::BOTTLENECKS`].
    pub bottleneck: String,
    /// Confidence in this bottleneck, 0 to 1.
    #[serde(with = "Figure")]
    pub confidence: f64,
}
