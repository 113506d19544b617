//! How far the model is from the trial that it was made of.

use crate::number::{percent, rate};

/// The same load by the model and as it was.
pub(super) struct Seen {
    /// Clients of the trial.
    pub(super) users: u32,
    /// Requests per second that the model gives them.
    pub(super) modelled: f64,
    /// Requests per second that they completed.
    pub(super) completed: f64,
}

impl Seen {
    /// The sentence of it.
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
