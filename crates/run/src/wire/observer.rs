//! Task and results of an observer, as plain data. An observer can work in this process or in an agent on another
//! machine, because its task and results are plain data.

use serde::{Deserialize, Serialize};

use crate::{Address, Incident, Recording, Upstream};

/// Side whose processes an observer watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The observed side is the load generator.
    #[default]
    Client,
    /// The observed side is the server.
    Server,
}

/// Task of an observer on one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ObserverSpec {
    /// Name of the host, as in `hosts[]`.
    pub host: String,
    /// Side to which the processes belong.
    pub role: Role,
    /// IDs of the processes to observe. The observer also follows the children of these processes.
    pub processes: Vec<u32>,
    /// Process whose network namespace has the network counters to read; absent for the observer's own namespace.
    pub netns_pid: Option<u32>,
    /// Listening socket to observe, including a sample of its connections.
    pub listen: Option<Address>,
    /// Remote address of connections to observe. The observer samples the connections to this remote address.
    pub connect: Option<Address>,
    /// Listening sockets whose accepted and waiting connections the observer counts. Counting the connections of a
    /// listening socket is expensive if it has many connections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Address>,
    /// CPUs that the observer treats as the whole host; empty for all CPUs.
    pub processors: Vec<u32>,
    /// True to sample what the threads of the processes and of their upstream services do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// True to sample the threads without their stacks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_stacks: bool,
    /// Names of the sources to read (`loadline list sources`); absent for all.
    pub sources: Option<Vec<String>>,
}

/// Observations of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Observed {
    /// Samples of the counters.
    pub recording: Recording,
    /// Instances `name:pid` of the watched processes.
    pub processes: Vec<String>,
    /// Name of the set of CPUs that the `cpu.*` counters describe: see [`crate::Side::machine`].
    pub machine: String,
    /// Size of a page of memory on the host, bytes. An observer of an earlier version of loadline sends no page size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u32>,
    /// Upstream services of the watched processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Upstream>,
    /// Pauses of the host, seconds since the start of the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<crate::Window>,
    /// Sampled threads; absent if the task did not request them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Box<crate::WaitProfile>>,
    /// CPU times of the host and of the watched processes.
    #[serde(skip_serializing_if = "CpuUse::is_empty")]
    pub cpu_use: CpuUse,
    /// Incidents of the watched processes.
    pub incidents: Vec<Incident>,
}

/// CPU times of a host and of the watched processes, about ten times per second. Each CPU time counts from an arbitrary
/// earlier moment, so only differences have a meaning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuUse {
    /// Number of CPUs of the host.
    pub cpus: f64,
    /// Time of each reading of the CPU times in seconds since the start of the load.
    pub t_s: Vec<f64>,
    /// Time for which the host's CPUs were idle, seconds.
    pub idle_s: Vec<f64>,
    /// Time for which the host's CPUs handled hard and soft interrupts, seconds.
    pub interrupts_s: Vec<f64>,
    /// CPU time of the watched processes and of their upstream services, seconds.
    pub own_s: Vec<f64>,
    /// Process ID of the observer, a process of loadline.
    pub observer_pid: u32,
    /// CPU time of the observer itself, seconds; 0 if the observer is one of the watched processes.
    pub observer_s: Vec<f64>,
}

impl CpuUse {
    /// Returns true if there is no reading.
    pub fn is_empty(&self) -> bool {
        self.t_s.is_empty()
    }

    /// Returns true if each list has one value per reading.
    pub(crate) fn is_whole(&self) -> bool {
        let lists = [&self.idle_s, &self.interrupts_s, &self.own_s, &self.observer_s];
        lists.iter().all(|values| values.len() == self.t_s.len())
    }
}
