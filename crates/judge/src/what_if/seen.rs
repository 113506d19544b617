//! Error of the model on the trial that it was made of.

use crate::number::{percent, rate};

/// Throughput of one load, modelled and measured.
pub(super) struct Seen {
    /// Clients of the trial.
    pub(super) users: u32,
    /// Requests per second by the model.
    pub(super) modelled: f64,
    /// Requests per second that were completed.
    pub(super) completed: f64,
}

impl Seen {
    /// Returns the sentence about it.
    pub(super) fn sentence(&self) -> String {
        format!(
            "with the {} clients of the run the model gives {}, and {} were completed ({} apart)",
            self.users,
            rate(self.modelled),
            rate(self.completed),
            percent((self.modelled / self.completed - 1.0).abs())
        )
    }
}
