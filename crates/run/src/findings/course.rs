//! Findings about a load with a changing rate: the rates at which the server kept up. The crate `judge` computes the
//! values of the types in this file, and the crate `report` prints them.

use serde::{Deserialize, Serialize};

use crate::Breach;
use crate::figure::Figure;

/// Rates up to which the server kept up with a load of changing rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CourseFinding {
    /// Parts of the measured window, in order. Each constant stage is one part; each ramp is split into parts.
    pub parts: Vec<CoursePart>,
    /// Highest rate that met the objective and that is below the rates of all parts of the load that failed or are
    /// unknown, requests per second. If any part failed or is unknown, each part that passed counts with the lower of
    /// its start rate and its end rate. The rate is absent if even the lowest rate failed or is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_rate: Option<f64>,
    /// Index in `parts` of the failed part with the lowest rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<usize>,
    /// Limit that the part `failed` broke, in words: `81 % of the offered load completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_why: Option<String>,
    /// Index in `parts` of the part with the lowest rate among those with `is_unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<usize>,
}

/// One part of a changing load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CoursePart {
    /// Start of the part, seconds since the window began.
    #[serde(with = "Figure")]
    pub from_s: f64,
    /// End of the part, seconds since the window began.
    #[serde(with = "Figure")]
    pub to_s: f64,
    /// Offered rate at the start, requests per second.
    #[serde(with = "Figure")]
    pub from: f64,
    /// Offered rate at the end, requests per second.
    #[serde(with = "Figure")]
    pub to: f64,
    /// Completed requests per second.
    #[serde(with = "Figure")]
    pub completed: f64,
    /// Upper bound of the 99th percentile of the response time, microseconds: the largest 99th percentile of any
    /// shorter period ([`crate::Moment`]) that overlaps this part. The bound is absent if the shorter periods do not
    /// cover the whole part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// True if the 99th percentile is unknown for some period in this part, because answers are missing. Then `p99_us`
    /// is only a lower bound: the largest 99th percentile of the periods for which it is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub p99_at_least: bool,
    /// Share of failed requests, 0 to 1. The requests of the first and the last tenth of a second of a part are left
    /// out, because they may belong to a neighbouring part. The share of failed requests is absent without requests or
    /// without a series of failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_share: Option<f64>,
    /// Limit that this part broke; absent if it broke none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breach: Option<Breach>,
    /// True if it is unknown whether this part met the objective. Either a figure that the objective limits was not
    /// measured, or requests failed so near to the edge of this part that they may belong to a neighbouring part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unknown: bool,
}
