//! What becomes of a trial on several hosts.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// What the generators of one host made of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostLoad {
    /// The host, as in `hosts[]`.
    pub host: String,
    /// Agents whose parts came.
    pub agents: u32,
    /// Requests that they completed.
    pub completed: u64,
    /// Their share of the load that was asked for, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// What its clock was ahead of the conductor's when the load began, microseconds.
    #[serde(with = "Figure")]
    pub clock_us: f64,
}

/// What one host of generators came to in the trial of [`crate::Picks::several_hosts`], in the order of its `host_loads`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostFinding {
    /// The host.
    pub host: String,
    /// Requests that it completed per second; absent where nothing was measured.
    pub completed_rate: Option<f64>,
    /// Share of its CPUs that was used in the window, by whomever, 0 to 1; absent where its counters are missing.
    pub cpus_busy: Option<f64>,
    /// Share of the TCP segments that it sent again, 0 to 1; absent where it sent none or its counters are missing.
    pub segments_again: Option<f64>,
    /// Whether it is the one nearest its limit, which is the client of the trial.
    pub busiest: bool,
}

/// How far the windows of several agents, and the samples at their edges, are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WindowsApart {
    /// From the first that began to the last, microseconds.
    #[serde(with = "Figure")]
    pub begin_us: f64,
    /// From the first that ended to the last, microseconds.
    #[serde(with = "Figure")]
    pub end_us: f64,
    /// The farthest sample at an edge from the moment that it was ordered for, microseconds; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_us: Option<f64>,
    /// Half of the longest of the fastest exchanges with each agent, and what their clocks may have run apart since, microseconds:
    /// so much at most may they be taken wrong. 0 where all agents are on this machine.
    #[serde(with = "Figure")]
    pub clock_us: f64,
    /// The most that the clock of an agent or observer on another host ran away from the conductor's during the trial, microseconds:
    /// orders and times were corrected by it. Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_us: Option<f64>,
}
