//! Result of measuring one server with different resources. The crate `judge` computes the values of the types in this
//! file, and the crate `report` prints them.

use serde::{Deserialize, Serialize};

use crate::{ArenaCapacity, Estimate, ExpectationResult, Fit};

/// Name and version of the format of `result.json`.
pub const SIZE_FORMAT: &str = "loadline-size/1";
/// Maximum number of settings (limits on a server's resources) that are compared.
pub const MAX_SIZE_STEPS: usize = 64;

/// Resources of a server. A resource without a value has no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeSetting {
    /// Limit on the CPU time per second, in CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// Number of CPUs on which the server may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Number of workers. The server's start command gets the number of workers as `$WORKERS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Number of replicas. The server's start command gets the number of replicas as `$REPLICAS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
}

impl SizeSetting {
    /// Returns the number of CPUs that the setting allows: the smaller of its quota and its CPUs. Returns `None` if the
    /// setting has no CPU limit.
    pub fn paid_cpus(&self) -> Option<f64> {
        let cpus = self.cpus.map(f64::from);
        match (self.quota, cpus) {
            (Some(quota), Some(cpus)) => Some(quota.min(cpus)),
            (quota, cpus) => quota.or(cpus),
        }
    }
}

/// Measurements of the server with one setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeStep {
    /// Resources of the server.
    pub setting: SizeSetting,
    /// Capacity; absent if the server met the objective at none of the tested rates.
    pub capacity: Option<ArenaCapacity>,
    /// 99th percentile of the response time near the capacity, microseconds.
    pub p99_us: Option<f64>,
    /// Predicted capacity with this setting. The command `what-if` predicts the capacity from the run of the first
    /// setting whose capacity is known exactly. The prediction is absent for the settings up to that first setting, and
    /// if the run's data do not suffice.
    pub predicted: Option<Estimate>,
    /// CPU time of the server per request, microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// CPUs that the server used near the capacity.
    pub cpus_used: Option<f64>,
    /// CPUs that the setting costs: the smaller of its quota and its CPUs. For a setting without a CPU limit, the cost
    /// is the number of CPUs that the server used.
    pub cost_cpus: Option<f64>,
    /// Share of the CPU quota's periods in which the server used up the quota, at a load near the capacity.
    pub throttled_periods: Option<f64>,
    /// Time for which the CPU quota stopped threads, at a load near the capacity, seconds per second.
    pub throttled_time: Option<f64>,
    /// Largest resident memory in any trial, bytes.
    pub rss_bytes: Option<f64>,
    /// Bottleneck at the capacity, one ID of [`crate::BOTTLENECKS`].
    pub bottleneck: Option<String>,
    /// True if the capacity is only a lower bound. Either the search ended before it found a load that was too high for
    /// the server, or something other than the server was the limit.
    pub at_least: bool,
    /// Reason why the capacity is a lower bound, or why there is no capacity.
    pub limited: Option<String>,
    /// Time budget with which the search would not end too early, seconds; absent if the search had enough time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_s: Option<f64>,
    /// Expectations of the user and their results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectationResult>,
    /// True if the server met the objective at some rate, and the setting meets all expectations.
    pub meets: bool,
    /// Warnings about the measurement of this setting, in sentences: the trust warnings and the notes of its run. For
    /// example, the measured capacity is too low if other programs used the CPUs.
    pub notes: Vec<String>,
    /// Folder of the run, relative to the folder of the result; absent if the server did not start.
    pub run: Option<String>,
}

/// Rule that decides which setting is cheapest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeGoal {
    /// The setting with the fewest CPUs; used if the user expects a capacity.
    Cpus,
    /// The setting with the fewest CPUs per request.
    #[default]
    CpusPerRequest,
}

/// CPU and memory of a container, in Kubernetes' units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodAmounts {
    /// Amount of CPU, such as `500m`.
    pub cpu: String,
    /// Memory, such as `64Mi`; absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// The `resources:` section of a container in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodResources {
    /// Reserved amounts of CPU and memory.
    pub requests: PodAmounts,
    /// Maximum amounts of CPU and memory.
    pub limits: PodAmounts,
}

/// Result of measuring one server with different resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeResult {
    /// Format of the file, [`SIZE_FORMAT`].
    pub format: String,
    /// Address of the server.
    pub target: String,
    /// Command of the server, without its secrets.
    pub command: String,
    /// Start of the measurement, RFC 3339 in UTC.
    pub started: String,
    /// Time budget for all searches, seconds.
    pub budget_s: f64,
    /// Part of the time budget that was used, seconds.
    pub used_s: f64,
    /// True if the measurement ended before all settings were measured.
    pub interrupted: bool,
    /// Settings, in the order in which they were measured.
    pub steps: Vec<SizeStep>,
    /// Universal Scalability Law, fitted to the capacities of all settings. N of the Universal Scalability Law is the
    /// amount of the only resource that differs among the settings, in multiples of its smallest amount. The fit does
    /// not use capacities that are only lower bounds. The fit is absent if fewer than four capacities are known, or if
    /// more than one resource differs among the settings; `notes` then has the reason.
    pub usl: Option<Fit>,
    /// Index of the cheapest setting that meets all expectations.
    pub cheapest: Option<usize>,
    /// Indexes of settings that may be cheaper than `cheapest`: their capacities are only lower bounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub may_be_cheaper: Vec<usize>,
    /// Time budget with which no search would end too early, seconds; absent if all searches had enough time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_budget_s: Option<f64>,
    /// Quantity that decides which setting is cheapest.
    pub goal: SizeGoal,
    /// Kubernetes' `resources:` section for a container with the cheapest setting.
    pub resources: Option<PodResources>,
    /// Weaknesses of the result, in sentences.
    pub notes: Vec<String>,
}
