//! Counts and findings for each class in a mix of requests.

use serde::{Deserialize, Serialize};

use crate::{Breach, CpuEstimate, Hist, LowerBounds, Summary, UnansweredTimes, censored_summary, skip_empty};

/// Counts for one class of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClassTally {
    /// Number of requests that were started.
    pub begun: u64,
    /// Number of complete and well-formed responses, of any status.
    pub completed: u64,
    /// Number of responses among `completed` that had an unexpected status.
    pub unexpected_status: u64,
    /// Number of requests that failed, alone or because their connection failed.
    pub failed: u64,
    /// Response bytes including headers (HTTP/2: bodies only). The number is 0 if the protocol does not show where a
    /// response ends.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub bytes: u64,
}

impl ClassTally {
    /// Returns the number of requests that were sent. A request that ended in a window may have been sent before it.
    pub fn sent(&self) -> u64 {
        self.begun.max(self.completed.saturating_add(self.failed))
    }

    /// Adds the counts of another thread or agent to these counts.
    pub fn merge(&mut self, other: &Self) {
        self.begun = self.begun.saturating_add(other.begun);
        self.completed = self.completed.saturating_add(other.completed);
        self.unexpected_status = self.unexpected_status.saturating_add(other.unexpected_status);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Returns how much each count has grown since `earlier`, an earlier copy of these counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            begun: self.begun - earlier.begun,
            completed: self.completed - earlier.completed,
            unexpected_status: self.unexpected_status - earlier.unexpected_status,
            failed: self.failed - earlier.failed,
            bytes: self.bytes - earlier.bytes,
        }
    }
}

/// Measurements of one class of requests by one load agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassPart {
    /// Name of the class.
    #[serde(default)]
    pub name: String,
    /// Counts from the first connect to the end of the drain.
    #[serde(default)]
    pub total: ClassTally,
    /// Counts of the measured window.
    #[serde(default)]
    pub measured: ClassTally,
    /// Response times of the measured window.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "crate::schema::tests::HistText"))]
    pub response: Hist,
    /// Times of requests without an answer in the measured window.
    #[serde(default, skip_serializing_if = "UnansweredTimes::is_empty")]
    pub unanswered: UnansweredTimes,
}

impl ClassPart {
    /// Returns the number of completed requests per second in a measured window of `length_s` seconds.
    pub fn completed_rate(&self, length_s: f64) -> f64 {
        self.measured.completed as f64 / length_s
    }

    /// Returns the summary of the response times in the measured window. In the summary, failed requests count as
    /// requests that were never answered. A request in flight at the end of the window counts as a request whose
    /// response time is at least its age.
    pub fn summary(&self) -> Summary {
        censored_summary(&self.response, &self.unanswered, self.measured.failed)
    }

    /// Adds the measurements of another thread or agent for the same class.
    pub fn merge(&mut self, other: Self) {
        if self.name.is_empty() {
            self.name = other.name;
        }
        self.total.merge(&other.total);
        self.measured.merge(&other.measured);
        self.response.absorb(other.response);
        self.unanswered.merge(&other.unanswered);
    }
}

/// Findings about one class of requests. The trial that [`crate::Picks::loaded`] names is called the reported trial
/// here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClassFinding {
    /// Name of the class.
    pub name: String,
    /// Share of this class in the requests that were sent in the reported trial, 0 to 1. Failed requests count.
    pub share: Option<f64>,
    /// Completed requests per second in the reported trial.
    pub rate: Option<f64>,
    /// Share of the class's requests that failed in the reported trial, by errors or unexpected responses, 0 to 1.
    pub failed_share: Option<f64>,
    /// Bytes per response in the reported trial.
    pub bytes: Option<f64>,
    /// Median response time in the reported trial, microseconds.
    pub p50_us: Option<f64>,
    /// 90th percentile of the response time in the reported trial, microseconds.
    pub p90_us: Option<f64>,
    /// 99th percentile of the response time in the reported trial, microseconds.
    pub p99_us: Option<f64>,
    /// 99.9th percentile of the response time in the reported trial, microseconds.
    pub p99_9_us: Option<f64>,
    /// Names of the percentiles that are lower bounds, because too many requests of the class were not answered.
    #[serde(skip_serializing_if = "LowerBounds::is_empty")]
    pub at_least: LowerBounds,
    /// Index of the trial with the lowest load at which this class, judged by itself, did not meet the objective. At
    /// every higher load than in this trial, the class did not meet the objective, either.
    pub failing: Option<usize>,
    /// Limit that the class broke in the trial `failing`.
    pub breach: Option<Breach>,
    /// True for the class that fails at the lowest load. If several classes fail at the lowest load, the field is true
    /// only for the class that is furthest beyond its limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first_to_fail: bool,
    /// Server CPU time per request of this class. The CPU time is an estimate; [`ClassCosts`] describes the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<CpuEstimate>,
    /// Estimated share of the class in the CPU time of all requests in the reported trial, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_share: Option<f64>,
}

/// Method and summary of the CPU costs per class. loadline estimates the costs from short measurements (windows). In
/// each measurement, one class has a larger share of the requests than in the mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClassCosts {
    /// Number of windows that the linear regression is fitted to.
    pub windows: usize,
    /// Index in `classes` of the class that takes the largest part of the server's CPU time in this mix.
    pub dearest: Option<usize>,
    /// True if the 95 % interval of the CPU time of the class `dearest` lies above the intervals of all other classes.
    pub sure: bool,
    /// Method of the estimates, in one sentence.
    pub how: String,
}
