//! Capacity in users: number of people that a server can handle if each pauses between a response and the next request.

use serde::{Deserialize, Serialize};

use crate::ThinkTime;
use crate::figure::Figure;

/// Capacity in users: the largest number of users for which the server meets the objective, and the next larger tested
/// number for which it does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UsersFinding {
    /// Largest number of users for which most measured windows met the objective; absent if there was no such number.
    pub held: Option<u32>,
    /// Smallest number of users above `held` for which the objective was not met; absent if there was none.
    pub failed: Option<u32>,
    /// Capacity estimate from the late requests of all measured windows; absent if no estimate is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<crate::Estimate>,
    /// Limit that was broken at `failed`, in words: `p99 was 30 ms`.
    pub failed_why: Option<String>,
    /// Complete responses with an expected status, per second, with `held` users.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Think time of a user between two requests.
    pub think: ThinkTime,
    /// Number of measured windows with `held` or `failed` users. The bounds `held` and `failed` both come from the
    /// windows that are counted here.
    pub windows: usize,
}
