//! Stacks of a server's threads, added up over time.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Maximum number of different stacks of each kind. The sampler keeps the stacks with the largest weights.
pub const MAX_STACKS: usize = 2_000;

/// One stack with its weight in the samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StackSum {
    /// Process, then functions from the outermost to the innermost, separated by ";". If a function has no name, its
    /// module is given in brackets.
    pub stack: String,
    /// Mean number of CPUs that ran this stack, or mean number of threads that waited in it.
    #[serde(with = "Figure")]
    pub weight: f64,
}

/// Stacks of the threads of a server and of its upstream services.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StackProfile {
    /// Number of samples of running code.
    pub cpu_samples: u64,
    /// Stacks of user code that ran on a CPU, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_STACKS, _, _>")]
    pub cpu: Vec<StackSum>,
    /// Stacks of threads that waited, the largest first, without idle threads.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_STACKS, _, _>")]
    pub waiting: Vec<StackSum>,
}

impl StackProfile {
    /// Calls `change` with each text of the profile that may come from another program.
    pub(crate) fn each_text(&mut self, change: impl FnMut(&mut String)) {
        self.cpu.iter_mut().chain(&mut self.waiting).map(|sum| &mut sum.stack).for_each(change);
    }
}
