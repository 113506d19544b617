//! A time interval within a trial.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// A time interval, in seconds since the start of the trial's load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Window {
    /// Start of the window, seconds.
    #[serde(with = "Figure")]
    pub begin_s: f64,
    /// End of the window, seconds.
    #[serde(with = "Figure")]
    pub end_s: f64,
}

impl Window {
    /// Window that contains all times of a trial.
    pub const ALL: Self = Self { begin_s: f64::MIN, end_s: f64::MAX };

    /// Converts intervals, given in nanoseconds of a clock, to seconds since an origin on this clock.
    pub fn of_ns(stretches: impl Iterator<Item = (u64, u64)>, origin_ns: u64) -> Vec<Self> {
        let since_s = |ns: u64| (ns as f64 - origin_ns as f64) / 1e9;
        stretches.map(|(begin, end)| Self { begin_s: since_s(begin), end_s: since_s(end) }).collect()
    }

    /// Returns true if a time is inside the window. A tolerance of one millisecond ensures that the samples at both
    /// ends are inside the window.
    pub fn holds(self, t_s: f64) -> bool {
        t_s >= self.begin_s - 1e-3 && t_s <= self.end_s + 1e-3
    }

    /// Returns true if the two windows overlap; windows that only touch at an end do not overlap.
    pub fn overlaps(self, other: Self) -> bool {
        self.begin_s < other.end_s && self.end_s > other.begin_s
    }

    /// Returns the length of the window in seconds.
    pub fn length_s(self) -> f64 {
        self.end_s - self.begin_s
    }
}
