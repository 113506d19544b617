//! Reasons why a server gets no rank under a load.

use serde::{Deserialize, Serialize};

/// Reason why a cell (one server under one load) gets no rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaRefusal {
    /// Kind of the reason, for programs that read the result.
    pub kind: ArenaRefusalKind,
    /// The reason, written as one sentence.
    pub text: String,
}

/// Kinds of reasons why a cell gets no rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArenaRefusalKind {
    /// The server could not be built, did not start, or ended.
    #[default]
    Failed,
    /// An answer differs from the first server's answer, or from the stated expectation.
    WrongAnswer,
    /// The generator, or the number of its connections, limited the rate.
    Generator,
    /// The network limited the rate.
    Medium,
    /// None of the tested loads overloaded the server, so its capacity is only a lower bound.
    NotOverloaded,
    /// The server or the machine paused during the measurement.
    Stall,
    /// Requests failed, stayed without an answer, or were refused on purpose.
    Errors,
    /// The server met the objective at none of the tested rates, because it was too slow or its answers came too late.
    Objective,
    /// The server cannot keep up with the common rate, at which all servers are compared under this load.
    TooSlow,
    /// The CPU time of the server is not known, because loadline sees no process of the server.
    NoCounters,
    /// The comparison ended before this cell was measured: the budget was used up, or the user stopped it.
    NotMeasured,
}

impl ArenaRefusalKind {
    /// Returns true if the capacity of the cell (one server under one load) is only a lower bound. loadline still
    /// measures the server at the common rate, and shows its figures without a rank.
    pub const fn is_lower_bound(self) -> bool {
        matches!(self, Self::Generator | Self::Medium | Self::NotOverloaded)
    }
}
