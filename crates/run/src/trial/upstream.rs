//! Upstream services of a server: the addresses to which its processes connect, and the processes that listen at these
//! addresses.

use serde::{Deserialize, Serialize};

/// An address to which the server's processes, or the processes of another upstream service, connect. The counter
/// `behind.connections` contains the number of connections to each upstream address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Upstream {
    /// Remote end of the connections: `127.0.0.1:8001`, or `unix:` and the path of a socket.
    pub address: String,
    /// Distance from the server: 1 for its own connections, 2 for connections of the upstream services at distance 1,
    /// and so on.
    pub depth: u32,
    /// Address of the upstream service that opened the connections; empty for the server itself.
    pub from: String,
    /// Listening processes, as instances of process counters (`python3:812`). The list is empty if loadline has no
    /// access to the processes, or if they run on a host without an observer.
    pub processes: Vec<String>,
    /// Process IDs of `processes`, in the same order, on the host of this side; empty in runs of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
}

/// Load of an upstream service while the server was at its limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UpstreamLoad {
    /// Address and processes of the upstream service.
    #[serde(flatten)]
    pub behind: Upstream,
    /// Maximum number of connections to the service at the same time; absent if unknown.
    pub connections: Option<f64>,
    /// CPU time of the service's processes, in CPUs; absent if unknown.
    pub cpu_used: Option<f64>,
    /// Number of CPUs that the service may use.
    pub cpu_allowed: Option<f64>,
    /// CPU quota of the service's control groups, in CPUs. The quota is absent if the service has none, and in runs of
    /// older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Share of the quota's periods in which the service used up the quota, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// Share of time in which the service's busiest thread ran or waited for a CPU, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Full resource; absent if none is full.
    pub limit: Option<UpstreamLimit>,
}

/// Full resource of an upstream service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamLimit {
    /// The CPU quota is used up: in each period, the kernel stops the service until the next period.
    Quota,
    /// All CPUs that the service may use are busy.
    Cpu,
    /// One thread is busy all the time, while other CPUs are idle.
    Thread,
    /// Several threads together use one CPU, because a lock such as Python's global lock lets only one of them run.
    Lock,
    /// A disk that the service reads or writes is busy.
    Disk,
}

/// Upstream service that the server waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitsFor {
    /// Address of the service, as in [`Upstream::address`].
    pub address: String,
    /// Processes of the service, as in [`Upstream::processes`].
    pub processes: Vec<String>,
    /// Process IDs of the service, as in [`Upstream::pids`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Full resource of the service; absent in runs of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<UpstreamLimit>,
}
