//! Results per host for a trial with several hosts.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Load of one host's generators in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostLoad {
    /// Name of the host, as in `hosts[]`.
    pub host: String,
    /// Number of generators that reported their results.
    pub agents: u32,
    /// Number of requests that these generators completed.
    pub completed: u64,
    /// Share of the requested load assigned to these generators, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Difference between the host's clock and the conductor's clock when the load began, microseconds.
    #[serde(with = "Figure")]
    pub clock_us: f64,
}

/// Findings for one generator host in the trial of [`crate::Picks::several_hosts`], in the order of the trial's
/// `host_loads`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostFinding {
    /// Name of the host.
    pub host: String,
    /// Requests completed per second; absent if nothing was measured.
    pub completed_rate: Option<f64>,
    /// CPU utilization of the host by all processes in the window, 0 to 1; absent without its counters.
    pub cpus_busy: Option<f64>,
    /// Share of retransmitted TCP segments, 0 to 1. Absent if the host sent no segments or its counters are missing.
    pub segments_again: Option<f64>,
    /// True if this host is closest to its limit. The field `client` of the trial describes this host.
    pub busiest: bool,
}

/// Time differences between the windows of several agents, and between samples and their requested times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WindowSkew {
    /// Time between the first and the last window start, microseconds.
    #[serde(with = "Figure")]
    pub begin_us: f64,
    /// Time between the first and the last window end, microseconds.
    #[serde(with = "Figure")]
    pub end_us: f64,
    /// Largest time between a sample at the window's start or end and its requested time, microseconds; absent without
    /// such samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_us: Option<f64>,
    /// Maximum error of `begin_us` and `end_us`, microseconds; 0 if all agents are on this machine. For each agent, the
    /// fastest round trip is measured. The error is half of the longest of these round trips, plus the possible clock
    /// drift after the clocks were compared.
    #[serde(with = "Figure")]
    pub clock_us: f64,
    /// Largest clock drift of a remote agent or observer against the conductor during the trial, microseconds. All
    /// times are corrected for this drift. Absent without remote hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_us: Option<f64>,
}
