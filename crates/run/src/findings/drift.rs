//! What grew while a load stayed the same.

use serde::{Deserialize, Serialize};

use crate::CounterId;
use crate::figure::Figure;

/// What may drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DriftOf {
    /// A level of the server: its counter says which.
    #[default]
    Level,
    /// The median response time, microseconds.
    ResponseTime,
    /// The share of requests that failed, 0 to 1.
    Failures,
}

/// What grew all through the measured window, and still at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drift {
    /// What it is.
    #[serde(default)]
    pub of: DriftOf,
    /// The counter of a level, summed over the server's processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<CounterId>,
    /// Its median in the window.
    #[serde(with = "Figure")]
    pub median: f64,
    /// Median slope of all pairs of moments (Theil–Sen), per second.
    #[serde(with = "Figure")]
    pub per_s: f64,
    /// Standard deviations by which it is more than noise (Mann–Kendall).
    #[serde(with = "Figure")]
    pub z: f64,
    /// All of it in a sentence.
    pub sentence: String,
}
