//! A capacity in users: how many people, who think between an answer and the next request, a server takes.

use serde::{Deserialize, Serialize};

use crate::ThinkTime;
use crate::figure::Figure;

/// Between which numbers of users the objective gives way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UsersFinding {
    /// Most users with whom the objective held in most windows; absent where it held with none.
    pub held: Option<u32>,
    /// Fewest users above those with whom it did not; absent where none were tried.
    pub failed: Option<u32>,
    /// The capacity by the late requests of all windows together; absent where they do not give one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<crate::Estimate>,
    /// How it broke with these, in words with figures: `p99 was 30 ms`.
    pub failed_why: Option<String>,
    /// Completed and expected requests per second of the users with whom it held.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// How long they think.
    pub think: ThinkTime,
    /// Windows with one of these two numbers of users: what the bracket rests on.
    pub windows: usize,
}
