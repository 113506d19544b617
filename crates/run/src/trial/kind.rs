//! Purpose of a trial.

use serde::{Deserialize, Serialize};

use crate::IncidentKind;

/// Purpose of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// A single trial with an intensity fixed by the user.
    #[default]
    Fixed,
    /// Step of the closed-loop sweep.
    Sweep,
    /// Step of the open-loop search for the capacity.
    Search,
    /// Deliberate overload beyond the capacity.
    Overload,
    /// One measurement of an experiment (`loadline lab`).
    Experiment,
    /// Trial in which an experiment switched levers on and off in slots (periods of equal length). The rates of a trial
    /// in which levers are switched mix several states of the server.
    Proof,
    /// Observation of a server under external load, without a generator.
    Watched,
    /// Short measurement with kept connections, or with one connection per request. Measurements with kept connections
    /// and with one connection per request alternate, to find the cost of a handshake.
    Handshakes,
    /// Short measurement in which one class has a larger share of the requests, to find the server's cost of each
    /// class.
    Classes,
}

impl TrialKind {
    /// Returns true if an incident of this kind ends the trial. A trial that only observes also ends if loadline loses
    /// its observer.
    pub const fn ends_with(self, kind: IncidentKind) -> bool {
        kind.invalidates_trial() || matches!((self, kind), (Self::Watched, IncidentKind::ObserverLost))
    }

    /// Returns true if the trial does not measure the server's capacity. A search for the capacity ignores auxiliary
    /// trials.
    pub const fn is_auxiliary(self) -> bool {
        matches!(self, Self::Proof | Self::Handshakes | Self::Classes)
    }
}
