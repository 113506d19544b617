//! What the windows come to: a capacity and how sure it is.

use super::asked::{Asked, What};

/// A capacity with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Median of the posterior, requests per second.
    pub rate: f64,
    /// 2.5 % of the posterior lie below.
    pub low: f64,
    /// 2.5 % lie above.
    pub high: f64,
    /// Elasticity of the late share there.
    pub steep: f64,
    /// Standard deviation of the logarithm of the machine's speed from window to window.
    pub speeds: f64,
}

impl Estimate {
    /// Half the interval as a share of the rate.
    pub fn precision(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.rate)
    }

    /// A rate past the capacity that tells much of it: there so many more are late that a window has some, and not so many that
    /// its queue no longer forgets.
    pub fn beyond(&self, asked: &Asked) -> f64 {
        match asked.what {
            What::Share { allowed, .. } => self.rate * (1.0 - BEYOND * allowed.ln() / self.steep),
            What::Refused { .. } => asked.saturation(self.rate, self.steep),
            What::Mean => self.rate * (1.0 + BEYOND / self.steep),
        }
    }
}

/// How far on the way to saturation [`Estimate::beyond`] lies; by simulation.
const BEYOND: f64 = 0.4;
