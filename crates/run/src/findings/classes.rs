//! What came of each class of a mix of requests.

use serde::{Deserialize, Serialize};

use crate::{Breach, CpuTold, Hist, unsaid};

/// Counts of one class of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClassTally {
    /// Requests that were begun.
    pub begun: u64,
    /// Responses that came back complete and well-formed, of any status.
    pub completed: u64,
    /// Of those, responses whose status is not an expected one.
    pub unexpected_status: u64,
    /// Requests that failed, alone or with their connection.
    pub failed: u64,
    /// Bytes of the responses, heads included (HTTP/2: of the bodies alone); 0 where the protocol does not tell them apart.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub bytes: u64,
}

impl ClassTally {
    /// Adds another thread's or agent's counts.
    pub fn merge(&mut self, other: &Self) {
        self.begun = self.begun.saturating_add(other.begun);
        self.completed = self.completed.saturating_add(other.completed);
        self.unexpected_status = self.unexpected_status.saturating_add(other.unexpected_status);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// What was counted since an earlier copy.
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

/// What one load agent found of one class of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassPart {
    /// What the class is called.
    #[serde(default)]
    pub name: String,
    /// Counts from first connect to end of drain.
    #[serde(default)]
    pub total: ClassTally,
    /// Counts of the measured window.
    #[serde(default)]
    pub measured: ClassTally,
    /// Response times of the measured window.
    #[serde(default)]
    pub response: Hist,
}

impl ClassPart {
    /// Requests completed per second of a measured window of this length.
    pub fn completed_rate(&self, length_s: f64) -> f64 {
        self.measured.completed as f64 / length_s
    }

    /// Adds what another thread or agent found of the same class.
    pub fn merge(&mut self, other: Self) {
        if self.name.is_empty() {
            self.name = other.name;
        }
        self.total.merge(&other.total);
        self.measured.merge(&other.measured);
        self.response.absorb(other.response);
    }
}

/// What is concluded of one class of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClassFinding {
    /// What the class is called.
    pub name: String,
    /// Its share of the completed requests in the trial that is shown, 0 to 1.
    pub share: Option<f64>,
    /// Completed requests per second there.
    pub rate: Option<f64>,
    /// Share of its requests that failed there, 0 to 1: errors and unexpected answers.
    pub failed_share: Option<f64>,
    /// Bytes of a response there.
    pub bytes: Option<f64>,
    /// Percentiles of its response time there, microseconds.
    pub p50_us: Option<f64>,
    /// The 90th.
    pub p90_us: Option<f64>,
    /// The 99th.
    pub p99_us: Option<f64>,
    /// The 99.9th.
    pub p99_9_us: Option<f64>,
    /// The trial (its place in `trials`) of the lowest load at which this class alone broke the objective, while neither
    /// that load nor a higher one held it.
    pub failing: Option<usize>,
    /// How it broke the objective there.
    pub breach: Option<Breach>,
    /// Whether it is the first to fail: at the lowest load of all, and furthest beyond its limit of those at that load.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first_to_fail: bool,
    /// CPU time of the server's processes for a request of it: an estimate (`class_costs` says by what).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<CpuTold>,
    /// What that makes of the CPU time of all requests in the trial that is shown, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_share: Option<f64>,
}

/// What the estimates of the classes' costs rest on: short windows in which the classes' shares were changed in turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClassCosts {
    /// Windows that the regression rests on.
    pub windows: usize,
    /// The class (its place in `classes`) that takes most of the server's CPU time, at the shares of the mix.
    pub dearest: Option<usize>,
    /// Whether its 95 % interval lies above those of all others.
    pub sure: bool,
    /// How they were told, in a sentence.
    pub how: String,
}
