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
    /// Number of requests that the generators of this host completed.
    pub completed: u64,
    /// Share of the planned load that the generators of this host had to make, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Difference between the host's clock and the clock of the controlling loadline process when the load began,
    /// microseconds.
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
    /// CPU utilization of the host by all processes in the measured window, 0 to 1; absent without the host's counters.
    pub cpus_busy: Option<f64>,
    /// Share of TCP segments that the host sent again, 0 to 1. The share is absent if the host sent no segments, or if
    /// its counters are missing.
    pub segments_again: Option<f64>,
    /// True if this host is closer to its limit than the other generator hosts. The field `client` of the trial
    /// describes the busiest host.
    pub busiest: bool,
}

/// Time differences between the measured windows of several generators, and between samples and their planned times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WindowSkew {
    /// Time from the moment at which the first generator began its measured window until the last one did,
    /// microseconds.
    #[serde(with = "Figure")]
    pub begin_us: f64,
    /// Time from the moment at which the first generator ended its measured window until the last one did,
    /// microseconds.
    #[serde(with = "Figure")]
    pub end_us: f64,
    /// Largest difference between the actual and the planned time of a sample at the window's start or end,
    /// microseconds; absent if there is no such sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_us: Option<f64>,
    /// Maximum error of `begin_us` and `end_us`, microseconds; 0 if all generators are on this machine. loadline
    /// measures the fastest round trip to each generator. The error is at most half of the longest measured round trip,
    /// plus the possible clock drift since the clocks were compared.
    #[serde(with = "Figure")]
    pub clock_us: f64,
    /// Largest clock drift of a remote generator or observer, relative to the controlling loadline process, during the
    /// trial, microseconds. loadline corrects all times for this drift. Absent if no host is remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_us: Option<f64>,
}
