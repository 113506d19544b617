//! A trial in stretches of equal length: what was completed in each, how long it took, and what failed.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::unsaid;

/// One stretch of a trial's measured window, of a second or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// These responses alone, which `completed` holds too.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub unexpected: u64,
    /// Median of the response time, microseconds, within 9 %; absent where nothing came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// The 99th percentile of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}

impl Moment {
    /// Share of the requests that ended and failed, 0 to 1; absent where none ended. Which are never answered is known at the
    /// end of a trial alone, so they are in none of its stretches.
    pub fn failed_share(&self) -> Option<f64> {
        let errors = self.failed.saturating_sub(self.unexpected);
        let all = self.completed.saturating_add(errors) as f64;
        (all > 0.0).then(|| (self.failed as f64 / all).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_request_that_came_and_failed() {
        let share = |completed, failed, unexpected| {
            Moment { completed, failed, unexpected, ..Moment::default() }.failed_share()
        };
        assert_eq!(share(100, 100, 100), Some(1.0), "all were refused");
        assert_eq!(share(90, 10, 0), Some(0.1), "reset before an answer");
        assert_eq!(share(90, 20, 10), Some(0.2));
        assert_eq!(share(0, 0, 0), None);
    }
}
