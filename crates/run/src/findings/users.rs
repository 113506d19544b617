//! Capacity in users: number of people that a server can handle if each pauses between a response and the next request.

use serde::{Deserialize, Serialize};

use crate::ThinkTime;
use crate::figure::Figure;

/// Numbers of users between which the objective fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UsersFinding {
    /// Largest number of users for which most windows held the objective; absent if no number did.
    pub held: Option<u32>,
    /// Smallest larger number of users for which the objective failed; absent if none was tried.
    pub failed: Option<u32>,
    /// Capacity estimate from the late requests of all windows; absent if they give no estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<crate::Estimate>,
    /// Broken limit at `failed`, in words: `p99 was 30 ms`.
    pub failed_why: Option<String>,
    /// Completed and expected responses per second at `held`.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Think time of a user between two requests.
    pub think: ThinkTime,
    /// Number of windows with `held` or `failed` users, which determine these two bounds.
    pub windows: usize,
}
