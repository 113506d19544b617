//! The window of a trial that is measured, and what the trial takes around it.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{SlotHist, Tally, Tenths, Window, WindowsApart};

/// The measured window in counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Measured {
    /// Where in the recordings it lies.
    pub window: Window,
    /// Its length by the generator's own clock, seconds.
    #[serde(with = "Figure")]
    pub length_s: f64,
    /// Its counts.
    pub tally: Tally,
    /// Completed requests per second in each tenth of a second of the window, or in each step of it.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub series_completed: Vec<f64>,
    /// Width of such a step, seconds, where a window is too long for tenths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_step_s: Option<f64>,
    /// Completed per second in each slot of an experiment.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub slot_rates: Vec<f64>,
    /// Response times of the requests of an open loop that were due in each slot; kept with the experiment itself.
    #[serde(skip)]
    pub slot_times: Vec<SlotHist>,
    /// Counts of each tenth of a second, by the limits of the objective.
    #[serde(skip_serializing_if = "Tenths::is_empty")]
    pub tenths: Tenths,
    /// When a generator's host, or the server's where an observer runs there, stood still; seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Window>,
    /// When a thread of a generator woke late or stood still within its work; seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<Window>,
    /// How the connections came up, where they were made one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<Opened>,
    /// How far the windows of several agents are apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<WindowsApart>,
    /// What the trial took besides its warm-up and its window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<Around>,
}

/// How the connections of a load came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Opened {
    /// Most connections that were open at the same time, summed over agents.
    pub connections: u64,
    /// When the last of them came up, seconds since the load began.
    #[serde(with = "Figure")]
    pub at_s: f64,
}

impl Opened {
    /// Adds what another agent had open.
    pub fn merge(&mut self, other: Self) {
        self.connections = self.connections.saturating_add(other.connections);
        self.at_s = self.at_s.max(other.at_s);
    }
}

/// What a trial takes besides its warm-up and its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Around {
    /// Until the load began: agents, observers, the lead of the common start; seconds.
    #[serde(with = "Figure")]
    pub start_s: f64,
    /// From the end of the window until everything was collected, seconds.
    #[serde(with = "Figure")]
    pub drain_s: f64,
}
