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

    /// The line through a capacity, so steep.
    pub(super) fn line(&self, c: f64, steep: f64) -> Line {
        let (full, scatter) = (self.saturation(c, steep), self.scatter(c, steep));
        let (allowed_ln, limit_s) = match self.what {
            What::Share { allowed, limit_s } => (allowed.ln(), limit_s),
            What::Refused { allowed } => (allowed.ln(), 0.0),
            What::Mean => (0.0, 0.0),
        };
        Line { c, steep, full, scatter, allowed_ln, limit_s }
    }

    /// Variance of the unfinished work that a line so steep means, in services; absent where the limit is not a time.
    fn scatter(&self, c: f64, steep: f64) -> Option<f64> {
        let What::Share { limit_s, .. } = self.what else { return None };
        (limit_s > 0.0).then(|| 2.0 * limit_s * c / steep)
    }

    /// The rate at which all would be late, or the mean endless.
    pub(super) fn saturation(&self, c: f64, steep: f64) -> f64 {
        match self.what {
            What::Share { allowed, .. } => c * (1.0 - allowed.ln() / steep),
            What::Refused { allowed } => c / (1.0 + refused_at(allowed, steep)),
            What::Mean => c * (1.0 + 1.0 / steep),
        }
    }

    /// Share late, or refused, in a window, in logarithm; of a mean, the mean over its limit.
    pub(super) fn shown_ln(&self, window: &Shown, line: &Line) -> f64 {
        match self.what {
            What::Share { .. } => line.late_ln(window),
            What::Refused { .. } => refused_ln(window.rate / line.full - 1.0, line.steep).min(MOST_LN),
            What::Mean => mean_ln(window.rate, line.c, line.steep),
        }
    }
}

/// A capacity with its steepness, and what both mean for every window.
#[derive(Clone, Copy)]
pub(super) struct Line {
    c: f64,
    steep: f64,
    /// The rate at which all would be late, the mean endless, or a limiter's own.
    pub(super) full: f64,
    /// Variance of the unfinished work, services.
    pub(super) scatter: Option<f64>,
    allowed_ln: f64,
    limit_s: f64,
}

impl Line {
    /// The line of the same steepness through another capacity: rates are in proportion to it, and so are the services of a limit.
    pub(super) fn at(&self, c: f64) -> Self {
        let more = c / self.c;
        Self { c, full: self.full * more, scatter: self.scatter.map(|services| services * more), ..*self }
    }

    /// Share late in a window of a rate, in logarithm: that of the steady state, or less where a window is too short to come to it.
    fn late_ln(&self, window: &Shown) -> f64 {
        let steady = self.allowed_ln + self.steep * (window.rate - self.c) / self.c;
        // At this variance the steady share falls by `steep / c` with each request a second, as the line says.
        let variance = self.scatter.map(|services| services / self.full);
        let share = variance.and_then(|v| share_late(1.0 - window.rate / self.full, self.limit_s, v, window.span));
        share.map_or(steady, |share| share.max(LEAST).ln().min(steady)).min(MOST_LN)
    }
}

/// Share that is refused at `1 + x` times the rate of a limiter, in logarithm.
fn refused_ln(x: f64, steep: f64) -> f64 {
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
fn mean_ln(rate: f64, c: f64, steep: f64) -> f64 {
    -(1.0 - steep * (rate - c) / c).max(LEAST_SPARE).ln()
}

/// A mean beyond this many limits is that of an overload, which grows with the window.
const LEAST_SPARE: f64 = 0.05;
/// Largest share late that the model knows, 0.97 in logarithm: what a window of an overload shows while its queue grows.
const MOST_LN: f64 = -0.030_459_207_484_708_574;
/// Smallest: what a window cannot have by the model, something that is not in it may bring.
const LEAST: f64 = 1e-6;
/// Variance of the logarithm of a mean of one draw: of an exponential time.
pub(super) const SPREAD: f64 = 1.0;
