//! The constraint that a capacity search checks, the observation of each window, and the model that predicts the
//! observations.

use super::transient::{Span, share_late};

/// Observation of one measurement window: its offered rate, its times, and its counts. If a part of the window was
/// disturbed, the counts cover only the undisturbed part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowObservation {
    /// Offered rate in requests per second.
    pub rate: f64,
    /// Number of requests that ended in the window.
    pub answered: f64,
    /// Number of requests in `answered` that were late or failed. If the limit is on the mean response time, the field
    /// is `answered` times the measured mean, divided by the limit.
    pub late: f64,
    /// True if requests were sent at equal intervals. With equal intervals, the length of the queue is correlated over
    /// a shorter time than with random arrivals.
    pub equal_gaps: bool,
    /// Start and end of the window. The queue is empty when the load begins and needs time to grow.
    pub span: Span,
}

/// Kind of quantity that has a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstraintKind {
    /// Share of late requests, above 0 and below 1.
    Share {
        /// Share of requests that may be late.
        allowed: f64,
        /// Response time in seconds above which a request is late.
        limit_s: f64,
    },
    /// Share of failed requests. A rate limiter that allows a burst of n requests refuses as many requests as a queue
    /// with space for n requests loses. The formula is a diffusion limit (J. Keilson, Journal of Applied Probability 2,
    /// 1965). At `1 + x` times the limiter's rate, the share of refused requests is `x / (1 - exp(-steep x)) / (1 +
    /// x)`.
    Refused {
        /// Share of requests that may fail.
        allowed: f64,
    },
    /// Mean response time. In the model, the mean is inversely proportional to the distance between the rate and the
    /// saturation rate.
    Mean,
}

/// A limit on one quantity that is measured in each window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraint {
    /// Kind of the limited quantity, and its limit.
    pub kind: ConstraintKind,
    /// Saturation rate, measured by the closed loop. At the saturation rate, all answers would be late. The field is
    /// `None` if the rate that meets the limit does not depend on the saturation rate.
    pub full: Option<f64>,
}

impl Constraint {
    /// Returns true if the measured quantity exceeds its limit in `window`, without regard to other windows.
    pub fn breaks(&self, window: &WindowObservation) -> bool {
        let shown = window.late / window.answered;
        match self.kind {
            ConstraintKind::Share { allowed, .. } | ConstraintKind::Refused { allowed } => shown > allowed,
            ConstraintKind::Mean => shown > 1.0,
        }
    }

    /// Returns the model for a capacity `c` and a steepness `steep` (see the formula in `mod.rs`).
    pub(super) fn line(&self, c: f64, steep: f64) -> CapacityModel {
        let (full, scatter) = (self.saturation(c, steep), self.scatter(c, steep));
        let (allowed_ln, limit_s) = match self.kind {
            ConstraintKind::Share { allowed, limit_s } => (allowed.ln(), limit_s),
            ConstraintKind::Refused { allowed } => (allowed.ln(), 0.0),
            ConstraintKind::Mean => (0.0, 0.0),
        };
        CapacityModel { c, steep, full, scatter, allowed_ln, limit_s }
    }

    /// Returns the variance of the server's unfinished work that the steepness `steep` implies, in service times.
    /// Returns `None` if the constraint has no limit on the response time.
    fn scatter(&self, c: f64, steep: f64) -> Option<f64> {
        let ConstraintKind::Share { limit_s, .. } = self.kind else { return None };
        (limit_s > 0.0).then(|| 2.0 * limit_s * c / steep)
    }

    /// Returns the saturation rate, at which all answers would be late or the mean would be infinite.
    pub(super) fn saturation(&self, c: f64, steep: f64) -> f64 {
        match self.kind {
            ConstraintKind::Share { allowed, .. } => c * (1.0 - allowed.ln() / steep),
            ConstraintKind::Refused { allowed } => c / (1.0 + refused_at(allowed, steep)),
            ConstraintKind::Mean => c * (1.0 + 1.0 / steep),
        }
    }

    /// Returns the logarithm of the share of late or refused requests that the model predicts for a window. If the
    /// limit is on the mean response time, returns the logarithm of the predicted mean divided by this limit.
    pub(super) fn shown_ln(&self, window: &WindowObservation, line: &CapacityModel) -> f64 {
        match self.kind {
            ConstraintKind::Share { .. } => line.late_ln(window),
            ConstraintKind::Refused { .. } => refused_ln(window.rate / line.full - 1.0, line.steep).min(MAX_LATE_LN),
            ConstraintKind::Mean => mean_ln(window.rate, line.c, line.steep),
        }
    }
}

/// Model of a server with the capacity `c` and the steepness `steep`. All other fields are computed from `c` and
/// `steep`, and are equal for all windows.
#[derive(Clone, Copy)]
pub(super) struct CapacityModel {
    c: f64,
    steep: f64,
    /// Saturation rate, at which all answers would be late or the mean would be infinite. For a rate limiter, this is
    /// its configured rate.
    pub(super) full: f64,
    /// Variance of the unfinished work, in service times; `None` if the constraint has no limit on the response time.
    pub(super) scatter: Option<f64>,
    allowed_ln: f64,
    limit_s: f64,
}

impl CapacityModel {
    /// Returns the model with an equal steepness and the capacity `c`. The rates of the model are proportional to the
    /// capacity, and so is the number of service times that fit into the latency limit.
    pub(super) fn at(&self, c: f64) -> Self {
        let more = c / self.c;
        Self { c, full: self.full * more, scatter: self.scatter.map(|services| services * more), ..*self }
    }

    /// Returns the logarithm of the predicted share of late answers in a window. The prediction is the share in the
    /// steady state, or a smaller share if the window is too short to reach the steady state.
    fn late_ln(&self, window: &WindowObservation) -> f64 {
        let steady = self.allowed_ln + self.steep * (window.rate - self.c) / self.c;
        // With this variance, the share in the steady state changes by a factor of `exp(steep / c)` with each request
        // per second. The model's formula for the share of late answers requires the factor `exp(steep / c)`.
        let variance = self.scatter.map(|services| services / self.full);
        let share = variance.and_then(|v| share_late(1.0 - window.rate / self.full, self.limit_s, v, window.span));
        share.map_or(steady, |share| share.max(MIN_LATE_SHARE).ln().min(steady)).min(MAX_LATE_LN)
    }
}

/// Returns the logarithm of the share of requests that a rate limiter refuses. The offered rate is `1 + x` times the
/// rate that the limiter allows.
fn refused_ln(x: f64, steep: f64) -> f64 {
    let y = steep * x;
    // The expression is x / (1 - exp(-y)), which is 1 / steep at x = 0.
    let lost = if y.abs() < 1e-6 { (1.0 + y / 2.0) / steep } else { x / -(-y).exp_m1() };
    (lost / (1.0 + x)).max(1e-300).ln()
}

/// Returns by how much the offered rate may exceed a rate limiter's rate before more than the share `allowed` of the
/// requests is refused. The returned excess is a share of the limiter's rate.
pub(super) fn refused_at(allowed: f64, steep: f64) -> f64 {
    let (mut low, mut high) = (-0.99, 1.0 / (1.0 - allowed.min(0.9)));
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if refused_ln(middle, steep) < allowed.ln() { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Returns the logarithm of a quotient: the mean response time at the offered rate `rate`, divided by the limit.
fn mean_ln(rate: f64, c: f64, steep: f64) -> f64 {
    -(1.0 - steep * (rate - c) / c).max(MIN_SPARE).ln()
}

/// Minimum distance between the rate and the saturation rate in the formula of the mean. The minimum is a share of the
/// distance between the capacity and the saturation rate. At rates closer to saturation, the mean would depend on the
/// length of the window.
const MIN_SPARE: f64 = 0.05;
/// Logarithm of 0.97, the maximum share of late answers in the model. In an overloaded window, about 97 % of the
/// answers are late while the queue grows.
const MAX_LATE_LN: f64 = -0.030_459_207_484_708_574;
/// Minimum share of late answers in the model: causes outside the model may also delay answers.
const MIN_LATE_SHARE: f64 = 1e-6;
/// Approximate variance of the logarithm of a mean response time, times the number of independent draws in the mean.
/// The value is 1 because the model assumes exponentially distributed response times.
pub(super) const SPREAD: f64 = 1.0;
