//! Result of a comparison of many servers. This module has only types: judge fills them, report prints them.

use serde::{Deserialize, Serialize};

use super::refusal::ArenaRefusalKind;
use crate::Estimate;
use crate::figure::Figure;

/// Result of a comparison of many servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaResult {
    /// Format of the file, [`crate::ARENA_FORMAT`].
    pub format: String,
    /// Path of the user's file.
    pub file: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Seed of the order of the turns.
    pub seed: u64,
    /// Time for all measurements, seconds.
    pub budget_s: f64,
    /// Used time, seconds.
    pub used_s: f64,
    /// True if the comparison stopped before all steps were done.
    pub interrupted: bool,
    /// Loads, in the order of the file.
    pub profiles: Vec<ArenaProfileResult>,
    /// One cell per server and load: servers of one load together, the best group first.
    pub cells: Vec<ArenaCell>,
    /// Difference between two starts of the same server, one entry per load.
    pub noise: Vec<ArenaNoise>,
    /// Weaknesses of the comparison, in sentences.
    pub notes: Vec<String>,
}

/// A load of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaProfileResult {
    /// Name of the load profile.
    pub profile: String,
    /// The load in words.
    pub load: String,
    /// Common rate of the turns, requests per second; absent if there were none.
    pub common_rate: Option<f64>,
    /// Number of complete rounds of turns.
    pub rounds: u32,
    /// Number of groups.
    pub groups: u32,
}

/// A server under a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaCell {
    /// Name of the server.
    pub entry: String,
    /// Name of the load profile.
    pub profile: String,
    /// Group of servers that cannot be told apart by their CPU time per request, 1 is the best. Absent if the result
    /// was refused.
    pub group: Option<u32>,
    /// Reason why the cell has no group.
    pub refused: Option<String>,
    /// Kind of the reason in `refused`.
    pub refused_kind: Option<ArenaRefusalKind>,
    /// Capacity; absent if no rate held the objective.
    pub capacity: Option<ArenaCapacity>,
    /// CPU time of the server per request at the common rate, microseconds.
    pub cpu_us_per_request: Option<Estimate>,
    /// Resident memory at the common rate, bytes.
    pub rss_bytes: Option<Estimate>,
    /// Resident memory with shared pages divided among their users, bytes.
    pub pss_bytes: Option<Estimate>,
    /// Median response time at the common rate, microseconds.
    pub p50_us: Option<Estimate>,
    /// 99th percentile of the response time at the common rate, microseconds.
    pub p99_us: Option<Estimate>,
    /// Bottleneck at the capacity, one id of [`crate::BOTTLENECKS`].
    pub bottleneck: Option<String>,
    /// Number of turns that count.
    pub turns: u32,
    /// Servers of this group that differ measurably from this one. They share the group because servers between them
    /// tie with both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs_from: Vec<String>,
    /// Folder of the search's own run, relative to the folder of the comparison.
    pub run: Option<String>,
}

/// Capacity of a server with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaCapacity {
    /// Requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Lower end of the 95 % interval.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the 95 % interval.
    #[serde(with = "Figure")]
    pub high: f64,
}

/// Difference between two starts of the same server: the noise of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaNoise {
    /// Name of the load.
    pub profile: String,
    /// Name of the server.
    pub entry: String,
    /// CPU time per request of the second start over that of the first one, with its 95 % interval.
    pub ratio: Option<Estimate>,
    /// True if the interval contains 1. For equal servers it does so in 95 of 100 comparisons.
    pub tied: bool,
    /// Number of pairs of turns.
    pub pairs: u32,
}
