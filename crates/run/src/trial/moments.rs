//! Equal parts of a long trial, each with its completed requests, response times and failures.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::skip_empty;

/// Part of a trial's measured window, one second or longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Moment {
    /// Middle of the part, seconds since the load began.
    #[serde(with = "Figure")]
    pub t_s: f64,
    /// Length of the part, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Number of responses of any status in this part of the trial.
    pub completed: u64,
    /// Number of failed requests and of responses with an unexpected status.
    pub failed: u64,
    /// Number of responses among `completed` with an unexpected status.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unexpected: u64,
    /// Median response time, microseconds, accurate to 12.5 %. The median is absent without responses, or if too many
    /// requests failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time, microseconds; absent without responses, or if too many requests failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}

impl Moment {
    /// Returns the start and the end of the part, seconds since the load began.
    pub fn ends_s(&self) -> [f64; 2] {
        [-0.5, 0.5].map(|half| self.t_s + half * self.seconds)
    }

    /// Returns the share of ended requests that failed, 0 to 1; `None` if no request ended. loadline knows only at the
    /// end of a trial which requests got no response, so no part of the trial counts them.
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
