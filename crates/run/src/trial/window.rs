//! A stretch of time within a trial.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// A stretch of time in seconds since the trial's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Window {
    /// First moment.
    #[serde(with = "Figure")]
    pub begin_s: f64,
    /// Last moment.
    #[serde(with = "Figure")]
    pub end_s: f64,
}

impl Window {
    /// Everything.
    pub const ALL: Self = Self { begin_s: f64::MIN, end_s: f64::MAX };

    /// Stretches of a clock, nanoseconds, as seconds since a moment of it.
    pub fn of_ns(stretches: impl Iterator<Item = (u64, u64)>, origin_ns: u64) -> Vec<Self> {
        let since_s = |ns: u64| (ns as f64 - origin_ns as f64) / 1e9;
        stretches.map(|(begin, end)| Self { begin_s: since_s(begin), end_s: since_s(end) }).collect()
    }

    /// Whether a moment lies inside. A millisecond of slack takes in the samples that were taken at the edges.
    pub fn holds(self, t_s: f64) -> bool {
        t_s >= self.begin_s - 1e-3 && t_s <= self.end_s + 1e-3
    }

    /// Length in seconds.
    pub fn length_s(self) -> f64 {
        self.end_s - self.begin_s
    }
}
