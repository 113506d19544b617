//! What stands behind a server: whom its processes hold connections to, and who answers there.

use serde::{Deserialize, Serialize};

/// An address that processes of the server, or of what stands behind it, are connected to. How many connections there
/// were is the counter `behind.connections` of this address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Behind {
    /// The other end of the connections: `127.0.0.1:8001`, or `unix:` and the path of a socket.
    pub address: String,
    /// Steps from the server: 1 for its own connections, 2 for those of the processes at these, and so on.
    pub depth: u32,
    /// The address whose processes hold the connections; empty where they are the server's own.
    pub from: String,
    /// Who listens there, as instances of process counters (`python3:812`); empty where that is on no host that is
    /// watched, or may not be looked into.
    pub processes: Vec<String>,
    /// Their ids on the host of this side, in the same order; empty in runs of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
}

/// What it did while the load was at its limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UpstreamLoad {
    /// Where it stands, and who answers there.
    #[serde(flatten)]
    pub behind: Behind,
    /// Connections to it at once, at most.
    pub connections: Option<f64>,
    /// CPU time that its processes used, in CPUs; absent where they are not known.
    pub cpu_used: Option<f64>,
    /// CPUs that they may use.
    pub cpu_allowed: Option<f64>,
    /// CPUs that the quotas of its control groups give; absent where there is none, or in runs of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Share of the quota's periods, 0 to 1, in which it ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// Share of the time, 0 to 1, in which its busiest thread ran or wanted to.
    pub busiest_thread: Option<f64>,
    /// What of it is full; absent where nothing is.
    pub limit: Option<UpstreamLimit>,
}

/// What of a process behind the server is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamLimit {
    /// Its CPU quota: it is stopped for the rest of the periods in which that ran out.
    Quota,
    /// All CPUs that it may use.
    Cpu,
    /// One thread, while other CPUs idle.
    Thread,
    /// One CPU's worth of time and no more, of whichever of its threads: a lock lets one of them run (Python's, say).
    Lock,
    /// The disk of its host, which it reads from or writes to.
    Disk,
}

/// What a server waits for, where that was found behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitsFor {
    /// As in [`Behind::address`].
    pub address: String,
    /// As in [`Behind::processes`].
    pub processes: Vec<String>,
    /// As in [`Behind::pids`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// What of it is full; absent in runs of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<UpstreamLimit>,
}
