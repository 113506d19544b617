//! What can happen to a server or to a generator while a trial goes on.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Something that happened to the server or to a generator while a trial went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Incident {
    /// What it was.
    pub kind: IncidentKind,
    /// When it began, seconds since the load began.
    #[serde(with = "Figure")]
    pub begin_s: f64,
    /// When it was over; absent if it was not, or is of one moment.
    #[serde(default)]
    pub end_s: Option<f64>,
    /// The sentence.
    pub text: String,
}

/// Kinds of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IncidentKind {
    /// A process of the server was stopped by a signal.
    ServerStopped,
    /// A process of the server ended, others of it went on.
    WorkerEnded,
    /// The server ended: no process of it was left.
    ServerEnded,
    /// All had ended, and answers came again.
    ServerReturned,
    /// No answer came although some were due, and nothing is known of the server's processes that explains it.
    Silence,
    /// The server, or the way to it, answered nothing any more, not even a single request after the load.
    ServerUnreachable,
    /// A generator was stopped by a signal.
    GeneratorStopped,
    /// A generator ended before its time; what it had counted is lost.
    GeneratorEnded,
    /// The observer on another host is lost, and with it the counters of that host.
    ObserverLost,
}

impl IncidentKind {
    /// Whether figures of a trial in which it happened say nothing of what the server takes under this load.
    pub const fn breaks(self) -> bool {
        match self {
            Self::ServerStopped
            | Self::ServerEnded
            | Self::ServerUnreachable
            | Self::GeneratorStopped
            | Self::GeneratorEnded => true,
            Self::WorkerEnded | Self::ServerReturned | Self::Silence | Self::ObserverLost => false,
        }
    }
}
