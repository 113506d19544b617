//! Repeats: all of a load made again, as parts of one run. They show what no single run can: how far its figures move.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// How often all of a load can be made at most.
pub const MOST_REPEATS: u32 = 100;

/// What one repeat came to by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Repeat {
    /// Trials that belong to it.
    pub trials: usize,
    /// Highest rate of good answers, requests per second.
    #[serde(with = "Figure")]
    pub completed_rate: f64,
    /// Median response time there, microseconds.
    #[serde(with = "Figure")]
    pub p50_us: f64,
    /// 99th percentile there.
    #[serde(with = "Figure")]
    pub p99_us: f64,
    /// Capacity, requests per second; absent where the objective did not hold.
    pub capacity: Option<f64>,
    /// Lower end of its 95 % interval, by this repeat's windows alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// One id of [`crate::BOTTLENECKS`].
    pub bottleneck: String,
    /// 0 to 1, as that of the whole run.
    #[serde(with = "Figure")]
    pub confidence: f64,
}
