//! Functions with a large share of a server's CPU time.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// A function whose own code has a large share of the CPU time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HotFunction {
    /// Name of the process.
    pub process: String,
    /// Function, or its module in brackets.
    pub function: String,
    /// Share of the CPU time of all sampled user code, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}
