//! A trial in stretches of equal length: what was completed in each, how long it took, and what failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// One stretch of a trial's measured window, of a second or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Moment {
    /// Its middle, seconds since the load began.
    #[serde(with = "Figure")]
    pub t_s: f64,
    /// Its length, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Responses that came, of any status.
    pub completed: u64,
    /// Requests that failed, and responses of an unexpected status.
    pub failed: u64,
    /// Median of the response time, microseconds, within 9 %; absent where nothing came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// The 99th percentile of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}

impl Moment {
    /// Share of the requests that failed, 0 to 1; absent where none ended.
    pub fn failed_share(&self) -> Option<f64> {
        let all = self.completed.saturating_add(self.failed) as f64;
        (all > 0.0).then(|| self.failed as f64 / all)
    }
}
