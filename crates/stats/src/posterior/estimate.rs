//! A capacity estimate: the rate, its interval, and the parameters of the model.

use super::constraint::{Constraint, ConstraintKind};
use super::speed::expected_scatter;

/// A capacity with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityEstimate {
    /// Median of the posterior in requests per second.
    pub rate: f64,
    /// 2.5 % quantile of the posterior in requests per second.
    pub low: f64,
    /// 97.5 % quantile of the posterior in requests per second.
    pub high: f64,
    /// Elasticity of the share of late answers with respect to the rate, at the capacity.
    pub steep: f64,
    /// Standard deviation of the logarithm of the machine's speed, from window to window.
    pub speeds: f64,
}

impl CapacityEstimate {
    /// Returns half the width of the interval, divided by the rate.
    pub fn precision(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.rate)
    }

    /// Returns true if the windows contradict each other more than was expected before any window was measured. The
    /// machine's speed then probably changed from window to window.
    pub fn is_unsteady(&self) -> bool {
        self.steep.is_finite() && self.speeds > expected_scatter()
    }

    /// Returns the rate, above the capacity, at which one more window is most informative. At the returned rate, enough
    /// answers are late to measure their share well. At the returned rate, the server's queue is still empty at times.
    /// A window in which the queue is never empty would tell less about the capacity.
    pub fn beyond(&self, constraint: &Constraint) -> f64 {
        match constraint.kind {
            ConstraintKind::Share { allowed, .. } => {
                self.rate * (1.0 - INFORMATIVE_POSITION * allowed.ln() / self.steep)
            }
            ConstraintKind::Refused { .. } => constraint.saturation(self.rate, self.steep),
            ConstraintKind::Mean => self.rate * (1.0 + INFORMATIVE_POSITION / self.steep),
        }
    }
}

/// Position of the most informative rate between the capacity (0) and saturation (1), found by simulation.
const INFORMATIVE_POSITION: f64 = 0.4;
