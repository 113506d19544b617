//! Functions with a large share of a server's CPU time.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// A function with a large share of the CPU time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HotFunction {
    /// Name of the process.
    pub process: String,
    /// Name of the function; if it is unknown, the name of its module in brackets.
    pub function: String,
    /// Share of the function's own code in the CPU time of all sampled user code, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Share (0 to 1) of the function, together with all functions that it calls, in the CPU time of all sampled user
    /// code. At most one function has this share, and only if no function's own code explains the CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inclusive: Option<f64>,
}
