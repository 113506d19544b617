//! Measured window of a trial, and the time that the trial took before and after it.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{SlotHist, TENTH_S, Tally, Tenths, Window, WindowSkew};

/// Counts and other measurements of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Measured {
    /// Start and end of the window, on the time scale of [`crate::Recording::t_s`].
    pub window: Window,
    /// Start of the load, seconds since 1970 (UTC). With the start time of the load, a reader can compare the times of
    /// a trial with logs and traces of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_began_unix_s: Option<f64>,
    /// Length of the window by the generator's own clock, seconds.
    #[serde(with = "Figure")]
    pub length_s: f64,
    /// Counts in the window.
    pub tally: Tally,
    /// Completed requests per second in each tenth of a second of the window, or in each step of `series_step_s`
    /// seconds.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub series_completed: Vec<f64>,
    /// Length of a step of the series in seconds; absent if each step is a tenth of a second. Only the series of long
    /// windows have longer steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_step_s: Option<f64>,
    /// Failed and refused requests per second in each step of `series_completed`; empty if there were none.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub series_failed: Vec<f64>,
    /// Responses with an unexpected status, per second, in each step of `series_completed`; empty if there were none.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub series_refused: Vec<f64>,
    /// Longest period in which no request completed although requests were in flight; start and end in seconds since
    /// the load began. The real period without completed requests may be longer by up to 0.2 s, the time of two
    /// progress reports of the generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Window>,
    /// Requests completed per second in each slot (period of equal length) of an experiment.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub slot_rates: Vec<f64>,
    /// Response times of the open-loop requests that were due in each slot. In `run.json`, the response times of the
    /// slots are in the experiment's result, and not in the trial.
    #[serde(skip)]
    pub slot_times: Vec<SlotHist>,
    /// Completed, failed and late requests in each tenth of a second. loadline checks the limits of the objective with
    /// these counts.
    #[serde(skip_serializing_if = "Tenths::is_empty")]
    pub tenths: Tenths,
    /// Pauses of the generators' hosts, and of the server's host if an observer runs on it; seconds since the load
    /// began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Window>,
    /// Times in which a generator thread woke up late or stalled during its work; seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<Window>,
    /// Share of a machine's CPUs, 0 to 1, that other programs, other virtual machines and interrupts took. The share
    /// includes neither idle time nor the CPU time of the server, the upstream services and the generator. The list
    /// `others` has one value for each tenth of a second, from the start of the load to the end of the window. With
    /// several machines, each value is the largest share of any machine. The list `others` is empty if this share of
    /// the CPUs is unknown.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<f64>,
    /// Part of each value of `others` that is the time of interrupts. Packets of the load cause interrupts, too. The
    /// list is empty if the time of interrupts is unknown.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<f64>,
    /// Information about the opening of the connections; absent unless the load opened them one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<ConnectionOpening>,
    /// Number of connections of a closed loop that were open when the window began; absent if all of them were open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_at_begin: Option<u64>,
    /// Time differences between the measured windows of several generators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<WindowSkew>,
    /// Time that a trial takes besides warm-up and measured window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<TrialOverhead>,
}

impl Measured {
    /// Returns the length of a step of the series, seconds.
    pub fn step_s(&self) -> f64 {
        self.series_step_s.unwrap_or(TENTH_S)
    }
}

/// Information about the opening of a load's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ConnectionOpening {
    /// Maximum number of open connections; with several agents, the sum of the agents' maxima.
    pub connections: u64,
    /// Time when the last connection opened, seconds since the load began.
    #[serde(with = "Figure")]
    pub at_s: f64,
}

impl ConnectionOpening {
    /// Adds the figures about the connections of another agent.
    pub fn merge(&mut self, other: Self) {
        self.connections = self.connections.saturating_add(other.connections);
        self.at_s = self.at_s.max(other.at_s);
    }
}

/// Time that a trial takes besides warm-up and measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TrialOverhead {
    /// Time until the load began, seconds: for starting generators and observers, and for waiting until all of them
    /// were ready.
    #[serde(with = "Figure")]
    pub start_s: f64,
    /// Time from the end of the window until all data was collected, seconds.
    #[serde(with = "Figure")]
    pub drain_s: f64,
}
