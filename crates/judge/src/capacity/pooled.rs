//! Capacity that follows from several windows of a search.

use run::ExcludedTime;
use stats::posterior::CapacityEstimate;

use crate::number::{counted, figure};

/// Capacity estimate from all windows of a search, and its basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Capacity from all windows together.
    pub estimate: CapacityEstimate,
    /// Best rate for the next window, above the capacity: at this rate, a window shows most about the capacity.
    pub beyond: f64,
    /// Number of windows in the estimate.
    pub windows: usize,
    /// True if the capacity is the mean completed rate of overloaded windows ([`super::left_over`]).
    pub of_overloads: bool,
    /// True if the capacity was lowered to the highest rate that passed in a window, because the machine's speed
    /// changed.
    pub is_lowered: bool,
    /// Disturbed time that the estimate leaves out, and a second estimate that includes it. Absent if no time was
    /// disturbed.
    pub left_out: Option<ExcludedTime>,
}

impl Pooled {
    /// Returns true if this interval contains the whole interval of another estimate.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.estimate.low <= other.estimate.low && other.estimate.high <= self.estimate.high
    }

    /// Returns the method that gave this capacity, in words. `is_server` is true if the server, and not the machine,
    /// became slower during the run.
    pub(super) fn method(&self, is_server: bool) -> String {
        let left_out = match self.left_out {
            Some(l) if l.rate.is_some() => format!("; {} s that were disturbed are left out", figure(l.seconds)),
            Some(l) => format!("; {} s that were disturbed are included", figure(l.seconds)),
            None => String::new(),
        };
        let windows = counted(self.windows as f64, "window");
        let lowered = match (self.is_lowered, is_server) {
            (true, true) => "; the server became slower during the run, so this is the highest rate that a window held",
            (true, false) => "; the machine's speed changed, so this is the highest rate that a window held",
            (false, _) => "",
        };
        match self.of_overloads {
            true => format!("open loop, mean completed rate in {windows} of overload{left_out}"),
            false => format!("open loop, late requests of {windows} pooled{left_out}{lowered}"),
        }
    }
}
