//! The observer on another host: what it is told, and what it finds there.

use serde::{Deserialize, Serialize};

use crate::{Address, HostInfo, ObserverSpec};

/// What an observer on another host is to look at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchSpec {
    /// What to look at. Processes and listener are found by `find`, where that is given.
    pub observer: ObserverSpec,
    /// The server that takes connections to this address is looked for, and its processes are those to look at.
    pub find: Option<Address>,
}

/// What an observer found on its host before any load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchedHost {
    /// The host.
    pub host: HostInfo,
    /// The server's processes.
    pub processes: Vec<u32>,
    /// The address that it listens on, as bound.
    pub listen: Option<Address>,
    /// Processors that the server's processes may use; empty where unknown.
    pub cpus: Vec<u32>,
    /// Why no server was found.
    pub missing: Option<String>,
}
