//! Capacity that a `find` reports.

use anyhow::{Context, Result};
use serde_json::Value;

/// Capacity of a run of `find`, requests per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundCapacity {
    pub(super) rate: f64,
    /// Ends of the confidence interval, if they are known.
    low: Option<f64>,
    high: Option<f64>,
}

impl FoundCapacity {
    /// Reads the capacity from the JSON of a run.
    pub(super) fn read(run: &Value) -> Result<Self> {
        let capacity = &run["findings"]["capacity"];
        let rate = capacity["rate"].as_f64().context("the run has no capacity")?;
        Ok(Self { rate, low: capacity["low"].as_f64(), high: capacity["high"].as_f64() })
    }

    /// Returns true if the confidence interval is known and contains `rate`.
    pub(super) fn covers(&self, rate: f64) -> bool {
        self.low.is_some_and(|low| low <= rate) && self.high.is_some_and(|high| high >= rate)
    }

    /// Returns half the width of the confidence interval, if it is known.
    pub(super) fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }
}
