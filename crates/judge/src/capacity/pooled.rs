//! Capacity that follows from several windows of a search.

use run::ExcludedTime;
use stats::posterior::CapacityEstimate;

/// Capacity estimate from all windows of a search, and its basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Capacity from all windows together.
    pub estimate: CapacityEstimate,
    /// Rate above the capacity at which one more window would be most informative.
    pub beyond: f64,
    /// Number of windows in the estimate.
    pub windows: usize,
    /// True if the capacity is the mean completed rate of windows beyond the capacity ([`super::left_over`]).
    pub of_overloads: bool,
    /// Disturbed time, and the estimate that includes this time; absent if no time was disturbed.
    pub left_out: Option<ExcludedTime>,
}

impl Pooled {
    /// Returns true if this interval contains the whole interval of another estimate.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.estimate.low <= other.estimate.low && other.estimate.high <= self.estimate.high
    }
}
