//! The constraint that windows of a search are held against, what each window showed, and the model of both.

use super::transient::{Span, share_late};

/// Counts of one window, or of its undisturbed part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowObservation {
    /// Offered rate, requests per second.
    pub rate: f64,
    /// Requests that ended in the window.
    pub answered: f64,
    /// Requests of these that were late, or failed. With a limit on the mean: the requests times the mean over its limit.
    pub late: f64,
    /// Whether arrivals had equal gaps; such a queue forgets sooner.
    pub equal_gaps: bool,
    /// Time of the window: a queue that began empty needs time to grow.
    pub span: Span,
}

/// Kind of figure that has a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstraintKind {
    /// Share of the requests that are late, above 0 and below 1.
    Share {
        /// Share that may be late.
        allowed: f64,
        /// Response time from which a request is late, seconds.
        limit_s: f64,
    },
    /// Share of the requests that fail. A limiter with a burst refuses what a queue of that length loses (its diffusion: J. Keilson,
    /// *J. Appl. Prob.* 2, 1965): `x / (1 - exp(-steep x)) / (1 + x)` at `1 + x` times its rate.
    Refused {
        /// Share that may fail.
        allowed: f64,
    },
    /// Mean response time. It grows as one over the distance of the rate from saturation.
    Mean,
}

/// A limit on one figure of the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraint {
    /// Figure and limit.
    pub kind: ConstraintKind,
    /// Rate at which the closed loop was full, so that all answers would be late; absent where fullness does not matter for the limit.
    pub full: Option<f64>,
}

impl Constraint {
    /// Returns whether a window by itself is beyond the limit.
    pub fn breaks(&self, window: &WindowObservation) -> bool {
        let shown = window.late / window.answered;
        match self.kind {
            ConstraintKind::Share { allowed, .. } | ConstraintKind::Refused { allowed } => shown > allowed,
            ConstraintKind::Mean => shown > 1.0,
        }
    }

    /// Returns the model with a capacity and a steepness.
    pub(super) fn line(&self, c: f64, steep: f64) -> CapacityModel {
        let (full, scatter) = (self.saturation(c, steep), self.scatter(c, steep));
        let (allowed_ln, limit_s) = match self.kind {
            ConstraintKind::Share { allowed, limit_s } => (allowed.ln(), limit_s),
            ConstraintKind::Refused { allowed } => (allowed.ln(), 0.0),
            ConstraintKind::Mean => (0.0, 0.0),
        };
        CapacityModel { c, steep, full, scatter, allowed_ln, limit_s }
    }

    /// Returns the variance of the unfinished work that a steepness means, in services; absent where the limit is not a time.
    fn scatter(&self, c: f64, steep: f64) -> Option<f64> {
        let ConstraintKind::Share { limit_s, .. } = self.kind else { return None };
        (limit_s > 0.0).then(|| 2.0 * limit_s * c / steep)
    }

    /// Returns the rate at which all answers would be late, or the mean infinite.
    pub(super) fn saturation(&self, c: f64, steep: f64) -> f64 {
        match self.kind {
            ConstraintKind::Share { allowed, .. } => c * (1.0 - allowed.ln() / steep),
            ConstraintKind::Refused { allowed } => c / (1.0 + refused_at(allowed, steep)),
            ConstraintKind::Mean => c * (1.0 + 1.0 / steep),
        }
    }

    /// Returns the logarithm of the share late or refused in a window, or of the mean over its limit.
    pub(super) fn shown_ln(&self, window: &WindowObservation, line: &CapacityModel) -> f64 {
        match self.kind {
            ConstraintKind::Share { .. } => line.late_ln(window),
            ConstraintKind::Refused { .. } => refused_ln(window.rate / line.full - 1.0, line.steep).min(MOST_LN),
            ConstraintKind::Mean => mean_ln(window.rate, line.c, line.steep),
        }
    }
}

/// Capacity and steepness, and the figures that follow from them for every window.
#[derive(Clone, Copy)]
pub(super) struct CapacityModel {
    c: f64,
    steep: f64,
    /// Rate at which all answers would be late or the mean infinite; a limiter's own rate.
    pub(super) full: f64,
    /// Variance of the unfinished work, services.
    pub(super) scatter: Option<f64>,
    allowed_ln: f64,
    limit_s: f64,
}

impl CapacityModel {
    /// Returns the model of the same steepness with another capacity. Rates and the services of a limit are proportional to the capacity.
    pub(super) fn at(&self, c: f64) -> Self {
        let more = c / self.c;
        Self { c, full: self.full * more, scatter: self.scatter.map(|services| services * more), ..*self }
    }

    /// Returns the logarithm of the share late in a window: that of the steady state, or less in a window too short to reach it.
    fn late_ln(&self, window: &WindowObservation) -> f64 {
        let steady = self.allowed_ln + self.steep * (window.rate - self.c) / self.c;
        // With this variance the steady share changes by `steep / c` with each request per second, as the line says.
        let variance = self.scatter.map(|services| services / self.full);
        let share = variance.and_then(|v| share_late(1.0 - window.rate / self.full, self.limit_s, v, window.span));
        share.map_or(steady, |share| share.max(LEAST).ln().min(steady)).min(MOST_LN)
    }
}

/// Returns the logarithm of the share that is refused at `1 + x` times the rate of a limiter.
fn refused_ln(x: f64, steep: f64) -> f64 {
    let y = steep * x;
    // x / (1 - exp(-y)), which is 1 / steep at 0.
    let lost = if y.abs() < 1e-6 { (1.0 + y / 2.0) / steep } else { x / -(-y).exp_m1() };
    (lost / (1.0 + x)).max(1e-300).ln()
}

/// Returns the excess over the rate of a limiter, as a share of it, at which the allowed share is refused.
pub(super) fn refused_at(allowed: f64, steep: f64) -> f64 {
    let (mut low, mut high) = (-0.99, 1.0 / (1.0 - allowed.min(0.9)));
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if refused_ln(middle, steep) < allowed.ln() { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Returns the logarithm of the mean over its limit at a rate.
fn mean_ln(rate: f64, c: f64, steep: f64) -> f64 {
    -(1.0 - steep * (rate - c) / c).max(LEAST_SPARE).ln()
}

/// Least distance from saturation that the mean is computed for: beyond it the mean is that of an overload and grows with the window.
const LEAST_SPARE: f64 = 0.05;
/// Largest share late of the model, 0.97 in logarithm: that of an overloaded window while its queue grows.
const MOST_LN: f64 = -0.030_459_207_484_708_574;
/// Smallest share late of the model: causes outside the model may make answers late, too.
const LEAST: f64 = 1e-6;
/// Variance of the logarithm of the mean of one draw, that of an exponential time.
pub(super) const SPREAD: f64 = 1.0;
