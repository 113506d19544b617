//! Error of the model on the trial from which it was made.

use crate::number::{counted, percent, rate};
use crate::thresholds::MODEL_MISSES;

/// Throughput under one load, predicted by the model and measured.
pub(super) struct Seen {
    /// Number of clients of the trial.
    pub(super) users: u32,
    /// Requests per second that the model predicts.
    pub(super) modelled: f64,
    /// Requests per second that completed.
    pub(super) completed: f64,
}

impl Seen {
    /// Returns true if the model differs from the measurement by more than its assumptions explain.
    ///
    /// The model assumes exponential service times. With constant service times, the rate is at most twice the rate of
    /// the model. For `K` queues with `K` clients, the rate is at most `(2K - 1) / K` times the model's rate.
    pub(super) fn misses(&self) -> bool {
        let off = self.modelled / self.completed;
        off.is_nan() || off.max(1.0 / off) > MODEL_MISSES
    }

    /// Returns the reason why no prediction is possible.
    pub(super) fn refusal(&self) -> String {
        format!(
            "the counters of this run do not explain its rate: with the {} of the run the model gives {}, and {} were \
             completed; something that no counter shows holds the requests, so no prediction is possible",
            counted(f64::from(self.users), "client"),
            rate(self.modelled),
            rate(self.completed)
        )
    }

    /// Returns the sentence about the model's error.
    pub(super) fn sentence(&self) -> String {
        let (modelled, completed) = (rate(self.modelled), rate(self.completed));
        // A model with one free parameter fits exactly, except for rounding.
        let apart = if modelled == completed { 0.0 } else { (self.modelled / self.completed - 1.0).abs() };
        format!(
            "with the {} of the run the model gives {}, and {} were completed ({} apart)",
            counted(f64::from(self.users), "client"),
            modelled,
            completed,
            percent(apart)
        )
    }
}
