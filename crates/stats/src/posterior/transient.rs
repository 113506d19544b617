//! Share of late answers in a short window whose queue began empty.
//!
//! Near saturation, any queue behaves like a reflected Brownian motion (heavy traffic: Kingman 1962). At time `t`, the
//! probability of a wait above `x` is `Q((x + m t) / s) + exp(-2 m x / v) Q((x - m t) / s)` with `s = sqrt(v t)` (J. M.
//! Harrison, *Brownian Motion and Stochastic Flow Systems*, 1985, section 1.8). In these formulas, `m` is the unused
//! share of the server, `v` the variance per second, and `Q` the upper tail of the normal distribution. With `m > 0`
//! (below saturation), the probability approaches the steady state `exp(-2 m x / v)`. With `m < 0` (overload), the wait
//! grows by `-m` seconds per second. At 5 % overload, for example, the wait exceeds 100 ms only after two seconds.

use crate::moments::normal_tail;

/// Start and end of a window in seconds since the load began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// Start of the window, after the warm-up.
    pub begin_s: f64,
    /// End of the window.
    pub end_s: f64,
}

/// Distance of the mean wait from the limit, in standard deviations of the wait. If the mean wait is farther than
/// `DECIDED_SD` standard deviations from the limit, the queue counts as steady or as completely overloaded.
const DECIDED_SD: f64 = 4.0;
/// Number of standard deviations beyond which the tail of the normal distribution counts as 0.
const NEGLIGIBLE_SD: f64 = 6.5;
/// Maximum standard deviation of the time at which the wait exceeds the limit, as a share of the window's length. If
/// the time at which the wait exceeds the limit is less certain, the formula of [`Crossing`] is not used.
const SHARP_CROSSING: f64 = 0.25;
/// Number of points in time in a window at which the probability of a late answer is computed. The probabilities at
/// these points are used only if the formula of [`Crossing`] is not accurate enough.
const POINTS: usize = 4;

/// Returns the share of a window, 0 to 1, in which the wait exceeds `limit_s`. `spare` is the unused share of the
/// server, negative beyond saturation. `variance` is the variance of the unfinished work, in seconds squared per
/// second. Returns `None` if the whole window is in the steady state or completely overloaded, or if an argument is
/// invalid.
pub(super) fn share_late(spare: f64, limit_s: f64, variance: f64, span: Span) -> Option<f64> {
    let length_s = span.end_s - span.begin_s;
    if !(length_s > 0.0 && limit_s > 0.0 && variance > 0.0) {
        return None;
    }
    let scatter_s = (variance * span.begin_s.max(0.0)).sqrt();
    if spare.abs() * span.begin_s - limit_s > DECIDED_SD * scatter_s {
        return None;
    }
    let crossing = Crossing::of(-spare, limit_s, variance);
    if let Some(crossing) = crossing.filter(|c| c.scatter_s < SHARP_CROSSING * length_s) {
        return Some((crossing.since(span.end_s) - crossing.since(span.begin_s)) / length_s);
    }
    let at = |i: usize| span.begin_s + length_s * (i as f64 + 0.5) / POINTS as f64;
    Some((0..POINTS).map(|i| tail(spare, limit_s, variance, at(i))).sum::<f64>() / POINTS as f64)
}

/// Returns the probability that the wait exceeds a limit at the time `t_s`.
fn tail(spare: f64, limit_s: f64, variance: f64, t_s: f64) -> f64 {
    let scatter = (variance * t_s).sqrt();
    let drift = spare * t_s;
    let mirrored = (-2.0 * spare * limit_s / variance).exp() * upper((limit_s - drift) / scatter);
    // If `spare` is negative and the limit is large, the exponential overflows and its factor is 0, so the product is
    // 0.
    upper((limit_s + drift) / scatter) + if mirrored.is_finite() { mirrored.min(1.0) } else { 0.0 }
}

/// Returns the probability that a standard normal variable exceeds `z`. Results very close to 0 or 1 are returned as 0
/// or 1, without a computation.
fn upper(z: f64) -> f64 {
    match z {
        z if z > NEGLIGIBLE_SD => 0.0,
        z if z < -NEGLIGIBLE_SD => 1.0,
        z => normal_tail(z),
    }
}

/// Time at which a growing wait exceeds a limit.
#[derive(Clone, Copy)]
struct Crossing {
    mean_s: f64,
    scatter_s: f64,
}

impl Crossing {
    fn of(growth: f64, limit_s: f64, variance: f64) -> Option<Self> {
        let mean_s = limit_s / growth;
        (growth > 0.0).then(|| Self { mean_s, scatter_s: (variance * mean_s).sqrt() / growth })
    }

    /// Returns the expected value of a duration, in seconds. The duration begins when the wait exceeds the limit (the
    /// crossing), and ends at the time `t_s`. If the wait exceeds the limit only after `t_s`, the duration counts as 0.
    fn since(&self, t_s: f64) -> f64 {
        let u = (t_s - self.mean_s) / self.scatter_s;
        let density = (-0.5 * u * u).exp() / std::f64::consts::TAU.sqrt();
        self.scatter_s * (u * upper(-u) + density)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean share of late answers in simulated M/M/1 queues.
    fn simulated(spare: f64, limit_s: f64, span: Span) -> f64 {
        const FULL: f64 = 2000.0;
        const PATHS: u64 = 400;
        let share = |seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut exponential = |mean: f64| -(1.0 - random.f64()).ln() * mean;
            let (mut t, mut wait, mut late, mut all) = (0.0, 0.0, 0.0, 0.0);
            while t < span.end_s {
                let gap = exponential(1.0 / (FULL * (1.0 - spare)));
                (t, wait) = (t + gap, (wait + exponential(1.0 / FULL) - gap).max(0.0));
                if t >= span.begin_s {
                    (all, late) = (all + 1.0, late + f64::from(u8::from(wait > limit_s)));
                }
            }
            late / all
        };
        (1..=PATHS).map(share).sum::<f64>() / PATHS as f64
    }

    #[test]
    fn the_share_of_late_answers_equals_that_of_simulated_queues() {
        let span = Span { begin_s: 0.35, end_s: 2.05 };
        for (spare, limit_s) in [(0.02, 0.03), (0.0, 0.03), (0.0, 0.1), (-0.03, 0.03), (-0.065, 0.1), (-0.4, 0.1)] {
            let variance = 2.0 / 2000.0;
            let (law, seen) = (share_late(spare, limit_s, variance, span), simulated(spare, limit_s, span));
            let law = law.unwrap_or_else(|| panic!("{spare} {limit_s} is no steady state"));
            assert!((law - seen).abs() < 0.05, "{spare} {limit_s}: {law} by the law, {seen} seen");
        }
    }

    #[test]
    fn a_window_in_the_steady_state_gives_none() {
        let span = Span { begin_s: 0.35, end_s: 2.05 };
        for (spare, limit_s) in [(0.1, 0.0007), (0.2, 0.005), (-0.1, 0.0007), (-0.5, 0.1)] {
            assert_eq!(share_late(spare, limit_s, 2.0 / 60_000.0, span), None, "{spare} {limit_s}");
        }
        assert_eq!(share_late(0.1, 0.1, 0.001, Span::default()), None, "a run that does not say when its windows were");
    }
}
