//! Task of an observer on another host, and the facts that the observer found there.

use serde::{Deserialize, Serialize};

use crate::{Address, HostInfo, ObserverSpec};

/// Task of an observer on another host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchSpec {
    /// Task of the observer. If `find` is set, the observer itself looks for the processes of the server and for its
    /// listening socket.
    pub observer: ObserverSpec,
    /// Address of the server. The observer finds the processes that listen at this address, and watches them. Absent if
    /// the observer watches only the processes in `observer`.
    pub find: Option<Address>,
}

/// Facts that an observer found on its host before any load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchedHost {
    /// Description of the host.
    pub host: HostInfo,
    /// Processes of the server.
    pub processes: Vec<u32>,
    /// Address to which the server's socket is bound.
    pub listen: Option<Address>,
    /// CPUs that the server may use; empty if unknown.
    pub cpus: Vec<u32>,
    /// Reason why no server was found; absent if the server was found.
    pub missing: Option<String>,
}
