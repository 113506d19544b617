//! Reliability of the figures. The decisive trial of a run is the load that represents the run.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Reliability of the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trust {
    /// Highest rate of the generator without a network (with its null driver), requests per second; absent if not
    /// measured.
    pub generator_ceiling: Option<f64>,
    /// Throughput of the decisive trial as a share of `generator_ceiling`, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_used: Option<f64>,
    /// True if the generator was probably at its own limit in the decisive trial ([`crate::Picks::decisive`]).
    pub generator_limited: bool,
    /// Weaknesses of the figures, in sentences: shared CPUs, violated queueing laws, lost samples.
    pub warnings: Vec<String>,
    /// Successful checks of the figures, in sentences.
    pub held: Vec<String>,
    /// CPU time of the probe (the part of loadline that reads counters) as a share of one CPU.
    pub probe_share: Option<f64>,
    /// Share of the run's time in which loadline measured, 0 to 1. The rest of the run's time is start, warm-up, drain
    /// and other time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_share: Option<f64>,
    /// Division of the run's time among its activities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<TimeSpent>,
}

/// Division of a run's time among its activities, in seconds. Only `measured_s` is time in which loadline measured the
/// server under load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TimeSpent {
    /// Time in the measured windows of all trials.
    #[serde(with = "Figure")]
    pub measured_s: f64,
    /// Time spent observing both sides without load.
    #[serde(with = "Figure")]
    pub at_rest_s: f64,
    /// Time for starting generators and observers, and for waiting until all of them are ready.
    #[serde(with = "Figure")]
    pub start_s: f64,
    /// Time spent on warm-ups, seconds.
    #[serde(with = "Figure")]
    pub settle_s: f64,
    /// Time from the end of a measured window until all data was collected.
    #[serde(with = "Figure")]
    pub drain_s: f64,
    /// Time for everything else: starting a server, first requests, judging, saving.
    #[serde(with = "Figure")]
    pub other_s: f64,
}
