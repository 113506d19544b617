//! Result of a comparison of many servers. The crate `judge` computes the values of the types in this file, and the
//! crate `report` prints them.

use serde::{Deserialize, Serialize};

use super::refusal::ArenaRefusalKind;
use crate::Estimate;
use crate::figure::Figure;

/// Result of a comparison of many servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaResult {
    /// Name and version of the file format, [`crate::ARENA_FORMAT`].
    pub format: String,
    /// Path of the user's arena file.
    pub file: String,
    /// Start of the comparison, RFC 3339 in UTC.
    pub started: String,
    /// Seed of the random order of the turns. A turn is one measurement of one server.
    pub seed: u64,
    /// Time budget for all measurements, seconds.
    pub budget_s: f64,
    /// Part of the time budget that the comparison used, seconds.
    pub used_s: f64,
    /// True if the comparison stopped before all builds, searches and turns were done.
    pub interrupted: bool,
    /// Loads, in the order of the user's arena file.
    pub profiles: Vec<ArenaProfileResult>,
    /// One cell (result) for each server under each load. The cells of one load are adjacent, and begin with the best
    /// group.
    pub cells: Vec<ArenaCell>,
    /// Measured differences between two starts of one server, one entry per load.
    pub noise: Vec<ArenaNoise>,
    /// Weaknesses of the comparison, in sentences.
    pub notes: Vec<String>,
}

/// A load of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaProfileResult {
    /// Name of the load.
    pub profile: String,
    /// Description of the load in words.
    pub load: String,
    /// Offered rate of all turns (measurements) with this load, requests per second; absent if there were no turns.
    pub common_rate: Option<f64>,
    /// Number of rounds, including an incomplete last round; a round measures each server once.
    pub rounds: u32,
    /// Number of groups of servers; 0 if no server has a rank. Servers in one group do not differ measurably in their
    /// CPU time per request.
    pub groups: u32,
}

/// Results of one server under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaCell {
    /// Name of the measured server.
    pub entry: String,
    /// Name of the load under which the server was measured.
    pub profile: String,
    /// Number of the server's group, from 1 (the best). Servers in one group do not differ measurably in their CPU time
    /// per request; [`ArenaCell::differs_from`] lists exceptions. The number is absent if the server is in no group
    /// under this load.
    pub group: Option<u32>,
    /// Reason why this server gets no group under this load, in one sentence; absent if the server gets a group.
    pub refused: Option<String>,
    /// Kind of the reason that `refused` states in words.
    pub refused_kind: Option<ArenaRefusalKind>,
    /// Capacity; absent if it was not measured, or if the server met the objective at none of the tested rates.
    pub capacity: Option<ArenaCapacity>,
    /// CPU time of the server per request at the common rate ([`ArenaProfileResult::common_rate`]), microseconds.
    pub cpu_us_per_request: Option<Estimate>,
    /// Resident memory of the server at the common rate ([`ArenaProfileResult::common_rate`]), bytes.
    pub rss_bytes: Option<Estimate>,
    /// Proportional set size at the common rate, bytes: resident memory in which each shared page is divided among the
    /// processes that use it.
    pub pss_bytes: Option<Estimate>,
    /// Median response time at the common rate, microseconds.
    pub p50_us: Option<Estimate>,
    /// 99th percentile of the response time at the common rate, microseconds.
    pub p99_us: Option<Estimate>,
    /// Bottleneck at the capacity, one ID of [`crate::BOTTLENECKS`].
    pub bottleneck: Option<String>,
    /// Number of valid measurements (turns) of this server under this load.
    pub turns: u32,
    /// Names of the servers that are in the group of this server, but differ measurably from this server. Two servers
    /// that differ can share a group, if a chain of servers connects them in which no two neighbours differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs_from: Vec<String>,
    /// Folder with the run of the capacity search, relative to the folder of the comparison.
    pub run: Option<String>,
}

/// Capacity of a server with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaCapacity {
    /// Capacity, requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Lower end of the 95 % interval of `rate`.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the 95 % interval of `rate`.
    #[serde(with = "Figure")]
    pub high: f64,
}

/// Measured difference between two starts of the same server. The difference between the two starts shows the noise of
/// the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaNoise {
    /// Name of the load.
    pub profile: String,
    /// Name of the server.
    pub entry: String,
    /// CPU time per request after the second start, divided by the CPU time per request after the first start, with its
    /// 95 % interval.
    pub ratio: Option<Estimate>,
    /// True if the interval of the ratio contains 1, which means that the two starts do not differ measurably. If the
    /// CPU cost of a server is the same after both of its starts, the interval contains 1 in 95 of 100 comparisons.
    pub tied: bool,
    /// Number of compared pairs of turns (measurements). A pair has one turn after the server's first start, and one
    /// turn after its second start.
    pub pairs: u32,
}
