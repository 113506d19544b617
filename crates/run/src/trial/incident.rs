//! Incidents of a server or a generator during a trial.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Reason that loadline gives for missing answers if the server's host refused most connects.
pub const NOTHING_LISTENS: &str = "its host refused connections, since the server had ended or no longer listened";

/// An incident of the server or of a generator during a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Incident {
    /// Kind of incident.
    pub kind: IncidentKind,
    /// Start of the incident, seconds since the load began.
    #[serde(with = "Figure")]
    pub begin_s: f64,
    /// End of the incident; absent if the incident did not end, or has no duration.
    #[serde(default)]
    pub end_s: Option<f64>,
    /// Description of the incident in one sentence.
    pub text: String,
}

/// Kinds of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IncidentKind {
    /// A signal stopped a process of the server.
    ServerStopped,
    /// A process of the server ended while others continued.
    WorkerEnded,
    /// The last process of the server ended.
    ServerEnded,
    /// All processes of the server had ended, and later responses came again.
    ServerReturned,
    /// No response came although responses were due, and the state of the server's processes does not explain the
    /// silence.
    Silence,
    /// The server refused every request of the load, and also a single request after the load.
    RefusedAtRest,
    /// The server or the network stopped responding, even to a single request after the load.
    ServerUnreachable,
    /// A signal stopped a process of the generator.
    GeneratorStopped,
    /// A generator ended early, and its counts are lost.
    GeneratorEnded,
    /// loadline lost the connection to the observer on another host, and thus the counters of this host.
    ObserverLost,
}

impl IncidentKind {
    /// Returns true if an incident of this kind is the end of the server, or of the path to it.
    pub const fn is_end_of_server(self) -> bool {
        matches!(self, Self::ServerEnded | Self::ServerStopped | Self::ServerUnreachable)
    }

    /// Returns true if an incident of this kind makes a trial's figures useless for the server's capacity.
    pub const fn invalidates_trial(self) -> bool {
        match self {
            Self::ServerStopped
            | Self::ServerEnded
            | Self::ServerUnreachable
            | Self::GeneratorStopped
            | Self::GeneratorEnded => true,
            Self::WorkerEnded | Self::ServerReturned | Self::Silence | Self::RefusedAtRest | Self::ObserverLost => {
                false
            }
        }
    }
}
