//! Everything measured so far in a comparison of many servers. The state of a comparison is stored after each build,
//! each capacity search and each turn (measurement of one server), so that an interrupted comparison can continue. The
//! result of the comparison depends only on the stored state.

use serde::{Deserialize, Serialize};

use super::plan::ArenaPlan;
use super::refusal::ArenaRefusal;
use super::result::ArenaCapacity;
use crate::ClosedLoopSource;

/// Name and version of the format of `arena.json`.
pub const ARENA_FORMAT: &str = "loadline-arena/1";
/// Maximum number of rounds; a round has one turn of each server. A turn is one measurement of one server.
pub const MAX_ARENA_ROUNDS: u32 = 1000;
/// Maximum number of turns (measurements of one server) that a stored comparison may have.
pub const MAX_ARENA_TURNS: usize = 1_000_000;

/// State of a comparison of many servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaState {
    /// Name and version of the file format, [`ARENA_FORMAT`].
    pub format: String,
    /// Version of the program that wrote the file.
    pub version: String,
    /// Time when the comparison was first started, RFC 3339 in UTC.
    pub started: String,
    /// Path of the user's arena file.
    pub file: String,
    /// Contents of the user's arena file.
    pub plan: ArenaPlan,
    /// Seed of the random order of the turns, and of all loads.
    pub seed: u64,
    /// Time budget for all measurements, seconds. The budget does not include the time for builds.
    pub budget_s: f64,
    /// Part of the time budget that the comparison used so far, seconds.
    pub used_s: f64,
    /// Weaknesses of the comparison, in sentences.
    pub notes: Vec<String>,
    /// Finished builds, each with the index of its server.
    pub builds: Vec<ArenaBuild>,
    /// Results of the capacity searches, in the order in which they ended.
    pub searches: Vec<ArenaSearch>,
    /// Results of the turns (measurements at the common rates), in the order in which the turns ended.
    #[serde(deserialize_with = "crate::bounded::list::<{ MAX_ARENA_TURNS }, _, _>")]
    pub turns: Vec<ArenaTurn>,
    /// True when all builds, searches and turns are done.
    pub done: bool,
}

impl ArenaState {
    /// Returns the result of the capacity search for a server under a load, if this search has ended.
    pub fn search(&self, cell: ArenaPlace) -> Option<&ArenaSearch> {
        self.searches.iter().find(|search| search.place == cell)
    }

    /// Returns all pairs of a server and a load. The pairs of one load are adjacent in the list.
    pub fn places(&self) -> Vec<ArenaPlace> {
        let entries = self.plan.entries.len();
        let of_profile = |profile| (0..entries).map(move |entry| ArenaPlace { entry, profile });
        (0..self.plan.profiles.len()).flat_map(of_profile).collect()
    }
}

/// Pair of a server and a load, each given by its index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArenaPlace {
    /// Index of the server in the user's file.
    pub entry: usize,
    /// Index of the load in the user's file.
    pub profile: usize,
}

/// Result of the build of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaBuild {
    /// Index of the built server in the user's file.
    pub entry: usize,
    /// Reason why the build failed, with its last output; absent if the build succeeded.
    pub failed: Option<String>,
}

/// First answer that a server gave to one request of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaAnswer {
    /// Index of the request in the load's set of requests; 0 if the load has only one request.
    #[serde(default, skip_serializing_if = "is_first")]
    pub request: u16,
    /// HTTP status code of the answer.
    pub status: u16,
    /// Length of the body, bytes; absent if it is not known.
    pub body_bytes: Option<u64>,
    /// First 200 characters of the body; empty if they are not known.
    pub text: String,
}

/// Returns true if `request` is the index of the first request, which is not stored.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_first(request: &u16) -> bool {
    *request == 0
}

/// Result of the capacity search for one cell (one server under one load).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaSearch {
    /// Server and load that the capacity search tested.
    pub place: ArenaPlace,
    /// First answer of the server; absent if no answer came.
    pub answer: Option<ArenaAnswer>,
    /// Answers to the checked requests of the load's set after the first one; empty if the load has only one request.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<{ crate::MAX_REQUESTS }, _, _>"
    )]
    pub further_answers: Vec<ArenaAnswer>,
    /// Capacity; absent if the server met the objective at none of the tested rates.
    pub capacity: Option<ArenaCapacity>,
    /// Description of the closed loop from which the capacity comes; absent if the capacity comes from an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_loop: Option<ClosedLoopSource>,
    /// Bottleneck at the capacity, one ID of [`crate::BOTTLENECKS`].
    pub bottleneck: Option<String>,
    /// Reason why the cell gets no rank; absent if nothing prevents a rank.
    pub refused: Option<ArenaRefusal>,
    /// Folder with the run of the capacity search, relative to the folder of the comparison.
    pub run: Option<String>,
    /// Time from the start command until the server was ready, seconds.
    pub start_s: f64,
}

impl ArenaSearch {
    /// Returns the first answer of the server to each request that was checked.
    pub fn answers(&self) -> impl Iterator<Item = &ArenaAnswer> {
        self.answer.iter().chain(&self.further_answers)
    }
}

/// One turn: a measurement of one server at the common rate of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArenaTurn {
    /// Server and load that the turn measured.
    pub place: ArenaPlace,
    /// True if the turn measured a server that loadline had started a second time. The measured difference between the
    /// first and the second start of one server shows the noise of the comparison.
    pub twin: bool,
    /// Number of the round to which the turn belongs, from 0.
    pub round: u32,
    /// Offered rate, requests per second.
    pub rate: f64,
    /// CPU time of the server per request, microseconds.
    pub cpu_us: Option<f64>,
    /// Resident memory of the server, bytes.
    pub rss_bytes: Option<f64>,
    /// Proportional set size of the server, bytes: resident memory in which each shared page is divided among the
    /// processes that use it.
    pub pss_bytes: Option<f64>,
    /// Median response time, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time, microseconds.
    pub p99_us: Option<f64>,
    /// Reason why the turn does not count; absent if the turn counts.
    pub refused: Option<ArenaRefusal>,
}
