//! A capacity with its interval.

use super::constraint::{Constraint, ConstraintKind};

/// A capacity with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityEstimate {
    /// Median of the posterior, requests per second.
    pub rate: f64,
    /// 2.5 % of the posterior lie below.
    pub low: f64,
    /// 2.5 % lie above.
    pub high: f64,
    /// Elasticity of the late share at the capacity.
    pub steep: f64,
    /// Standard deviation of the logarithm of the machine's speed from window to window.
    pub speeds: f64,
}

impl CapacityEstimate {
    /// Returns half the interval as a share of the rate.
    pub fn precision(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.rate)
    }

    /// Returns a rate past the capacity whose window tells most about the capacity. More answers are late there than a window can miss,
    /// and fewer than in an overload, whose queue no longer forgets.
    pub fn beyond(&self, constraint: &Constraint) -> f64 {
        match constraint.kind {
            ConstraintKind::Share { allowed, .. } => self.rate * (1.0 - BEYOND * allowed.ln() / self.steep),
            ConstraintKind::Refused { .. } => constraint.saturation(self.rate, self.steep),
            ConstraintKind::Mean => self.rate * (1.0 + BEYOND / self.steep),
        }
    }
}

/// Share of the way from the capacity to saturation at which [`CapacityEstimate::beyond`] lies; found by simulation.
const BEYOND: f64 = 0.4;
