//! What grew while a load stayed the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CounterId;
use crate::figure::Figure;

/// A level of the server that grew all through the measured window, and still at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The counter, summed over the server's processes.
    pub counter: CounterId,
    /// Its median in the window.
    #[serde(with = "Figure")]
    pub median: f64,
    /// Median slope of all pairs of moments (Theil–Sen), per second.
    #[serde(with = "Figure")]
    pub per_s: f64,
    /// Standard deviations by which it is more than noise (Mann–Kendall).
    #[serde(with = "Figure")]
    pub z: f64,
    /// All of it in a sentence.
    pub sentence: String,
}
