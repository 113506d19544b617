//! What an observer of a host is told and what it hands out: plain data, so that it works in this process and in an agent
//! on another machine alike.

use serde::{Deserialize, Serialize};

use crate::{Address, Behind, Incident, Recording};

/// Whose processes an observer looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The generator's.
    #[default]
    Client,
    /// The server's.
    Server,
}

/// What to look at on one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ObserverSpec {
    /// Name of the host, as in `hosts[]`.
    pub host: String,
    /// Whose processes they are.
    pub role: Role,
    /// Processes; their children are found and followed.
    pub processes: Vec<u32>,
    /// Network counters are those of this process's network namespace; absent for the observer's own.
    pub netns_pid: Option<u32>,
    /// The listener to watch, and whose connections are sampled.
    pub listen: Option<Address>,
    /// Connections to this address are sampled.
    pub connect: Option<Address>,
    /// Listeners whose connections are counted, those that were accepted and those that wait for it: dear where there are
    /// many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Address>,
    /// Processors that stand for the whole host; empty for all.
    pub processors: Vec<u32>,
    /// Names of the sources to read (`loadline list sources`); absent for all.
    pub sources: Option<Vec<String>>,
}

/// What an observer saw during one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Observed {
    /// The samples.
    pub recording: Recording,
    /// Instances `name:pid` of the processes that were followed.
    pub processes: Vec<String>,
    /// The processors that `cpu.*` counts, as one name: see [`crate::Side::machine`].
    pub machine: String,
    /// Whom the processes hold connections to, and who answers there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
    /// When its host stood still, seconds since the origin of the trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<crate::Window>,
    /// What happened to the processes.
    pub incidents: Vec<Incident>,
}
