//! What is asked of the windows of a search, what each showed, and the law that both follow.

use super::transient::{Span, share_late};

/// What one window, or the undisturbed part of one, showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Offered rate, requests per second.
    pub rate: f64,
    /// Requests that ended in it.
    pub answered: f64,
    /// Those of them that were late, or failed; of a limit on the mean, the requests times the mean over its limit.
    pub late: f64,
    /// Whether gaps were equal: their queue forgets sooner.
    pub equal_gaps: bool,
    /// When it was: a queue that began empty needs time to grow.
    pub span: Span,
}

/// What is held against its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A share of the requests that may be late, above 0 and below 1, and the response time from which one is, seconds.
    Share { allowed: f64, limit_s: f64 },
    /// A share of the requests that may fail. What a limiter with room for some refuses is the loss of a queue with so much room
    /// (its diffusion: J. Keilson, *J. Appl. Prob.* 2 (1965)): `x / (1 - exp(-steep x)) / (1 + x)` at `1 + x` times its rate.
    Refused { allowed: f64 },
    /// The mean response time. It grows as one over what the rate is short of saturation.
    Mean,
}

/// What is asked of the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// What is held against its limit.
    pub what: What,
    /// Rate at which the closed loop was full, where all would be late; absent where that has nothing to do with it.
    pub full: Option<f64>,
}

impl Asked {
    /// Whether a window by itself is beyond the limit.
    pub fn breaks(&self, window: &Shown) -> bool {
        let shown = window.late / window.answered;
        match self.what {
            What::Share { allowed, .. } | What::Refused { allowed } => shown > allowed,
            What::Mean => shown > 1.0,
        }
    }

    /// Variance of the unfinished work that a line so steep means, in services; absent where the limit is not a time.
    pub(super) fn scatter(&self, c: f64, steep: f64) -> Option<f64> {
        let What::Share { limit_s, .. } = self.what else { return None };
        (limit_s > 0.0).then(|| 2.0 * limit_s * c / steep)
    }

    /// Share late in a window of a rate, in logarithm: that of the steady state, or less where a window is too short to come to it.
    pub(super) fn late_ln(&self, window: &Shown, (c, steep): (f64, f64), (allowed, limit_s): (f64, f64)) -> f64 {
        let steady = allowed.ln() + steep * (window.rate - c) / c;
        let full = self.saturation(c, steep);
        // At this variance the steady share falls by `steep / c` with each request a second, as the line says.
        let variance = self.scatter(c, steep).map(|services| services / full);
        let share = variance.and_then(|v| share_late(1.0 - window.rate / full, limit_s, v, window.span));
        share.map_or(steady, |share| share.max(LEAST).ln().min(steady)).min(MOST.ln())
    }

    /// The rate at which all would be late, or the mean endless.
    pub(super) fn saturation(&self, c: f64, steep: f64) -> f64 {
        match self.what {
            What::Share { allowed, .. } => c * (1.0 - allowed.ln() / steep),
            What::Refused { allowed } => c / (1.0 + refused_at(allowed, steep)),
            What::Mean => c * (1.0 + 1.0 / steep),
        }
    }
}

/// Share that is refused at `1 + x` times the rate of a limiter, in logarithm.
pub(super) fn refused_ln(x: f64, steep: f64) -> f64 {
    let y = steep * x;
    // x / (1 - exp(-y)), which is 1 / steep at 0.
    let lost = if y.abs() < 1e-6 { (1.0 + y / 2.0) / steep } else { x / -(-y).exp_m1() };
    (lost / (1.0 + x)).max(1e-300).ln()
}

/// How far beyond the rate of a limiter, as a share of it, so much is refused.
pub(super) fn refused_at(allowed: f64, steep: f64) -> f64 {
    let (mut low, mut high) = (-0.99, 1.0 / (1.0 - allowed.min(0.9)));
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if refused_ln(middle, steep) < allowed.ln() { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The mean over its limit at a rate, in logarithm.
pub(super) fn mean_ln(rate: f64, c: f64, steep: f64) -> f64 {
    -(1.0 - steep * (rate - c) / c).max(LEAST_SPARE).ln()
}

/// A mean beyond this many limits is that of an overload, which grows with the window.
const LEAST_SPARE: f64 = 0.05;
/// Largest share late that the model knows: what a window of an overload shows while its queue grows.
pub(super) const MOST: f64 = 0.97;
/// Smallest: what a window cannot have by the model, something that is not in it may bring.
const LEAST: f64 = 1e-6;
/// Variance of the logarithm of a mean of one draw: of an exponential time.
pub(super) const SPREAD: f64 = 1.0;
