//! Result of the steady-state test before the measured window.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Steady-state test before the measured window, as described in `docs/explanation/method.md`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steady {
    /// True if the steady-state test found the load to be steady.
    pub steady: bool,
    /// Length of the warm-up, seconds.
    #[serde(with = "Figure")]
    pub warmup_s: f64,
    /// Reason for the result, in words with figures.
    pub reason: String,
    /// True if the warm-up was too short for the steady-state test. In a search, warm-ups are short because the server
    /// is already warm.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_short: bool,
}
