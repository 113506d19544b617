//! Counts of requests and responses of a run.

use run::TickDetail;

/// Counts of requests and responses of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) completed: u64,
    pub(crate) detail: TickDetail,
}

impl Totals {
    /// Adds the counts of `other` to the counts in this value.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.completed = self.completed.saturating_add(other.completed);
        self.detail.merge(&other.detail);
    }

    /// Returns the growth of the counts in `self` since `earlier`, an earlier copy of the same counts.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(earlier.sent),
            completed: self.completed.saturating_sub(earlier.completed),
            detail: self.detail.since(&earlier.detail),
        }
    }
}
