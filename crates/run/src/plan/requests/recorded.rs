//! Recorded times at which requests are sent again.

use serde::{Deserialize, Serialize};

/// Recorded requests: their order and the time between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordedTimes {
    /// Time since the previous request, microseconds; for the first request, time since the start.
    pub gaps_us: Vec<u64>,
    /// For each recorded request, its index in `requests`; empty if only times were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<u16>,
    /// Speed of the replay: 2 sends the requests twice as fast as recorded.
    pub speed: f64,
}

impl RecordedTimes {
    /// Returns the requests of one process: every `processes`-th request, beginning with the request at index `i`.
    #[must_use]
    pub fn share(&self, i: u32, processes: u32) -> Self {
        let (mut at, mut before) = (0, 0);
        let times: Vec<u64> = self
            .gaps_us
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        let mine = || (i as usize..times.len()).step_by(processes.max(1) as usize);
        let gaps_us = mine().map(|k| times[k] - std::mem::replace(&mut before, times[k])).collect();
        Self { gaps_us, items: mine().filter_map(|k| self.items.get(k).copied()).collect(), speed: self.speed }
    }

    /// Returns the time from the start to the last request at the replay speed, seconds.
    pub fn span_s(&self) -> f64 {
        self.gaps_us.iter().sum::<u64>() as f64 / 1e6 / self.speed
    }
}

/// Times at which requests are due, read from a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalTimes {
    /// Path of the file that contains the times.
    pub from: String,
    /// Number of times at which requests are due.
    pub count: u64,
    /// Recorded times of the requests; a run does not store them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<RecordedTimes>,
}
