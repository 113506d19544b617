//! Computes the number of independent answers that would carry as much information as all answers of one window.
//! Answers of one window are correlated, because a long queue stays long for a while.

use super::constraint::{Constraint, ConstraintKind, SPREAD, WindowObservation};
use super::estimate::CapacityEstimate;

/// Dispersion assumed before the measurement, as a multiple of the dispersion of an M/M/1 queue: for Poisson arrivals,
/// and for arrivals at equal intervals. The dispersion is the number of correlated answers that carry as much
/// information as one independent answer.
pub(super) const PRIOR_DISPERSION: (f64, f64) = (1.0, 0.3);
/// Maximum number of independent draws for which a window beyond saturation may count. The moment at which the window's
/// queue exceeds the limit depends on the start of the load and on the server's speed. The start of the load and the
/// server's speed may shift this moment by a few percent of the window's length, so more draws would claim too much
/// certainty.
const MAX_SATURATED_DRAWS: f64 = 50.0;

/// Returns the number of independent draws for which one window counts, computed with the prior dispersion.
pub(super) fn worth(window: &WindowObservation, constraint: &Constraint) -> f64 {
    let dispersion = dispersions(std::slice::from_ref(window), constraint, None, PRIOR_DISPERSION.0);
    dispersion.first().map_or(1.0, |dispersion| window.answered / dispersion)
}

/// Maximum number of refused requests that count as one independent draw. A rate limiter allows only bursts of a
/// limited size, so a decision depends only on recent requests.
const MAX_REFUSED_PER_DRAW: f64 = 100.0;

/// Returns the standard deviation of the logarithm of the mean of `draws` independent draws.
pub(super) fn mean_spread(draws: f64) -> f64 {
    (SPREAD / draws).sqrt()
}

/// Returns the dispersion of each window: the number of its answers that carry as much information as one independent
/// answer. For random arrivals, the dispersion is twice the product of the rate and the relaxation time of an M/M/1
/// queue, times `scale`. For arrivals at equal intervals, the dispersion is smaller by the ratio of the two values in
/// [`PRIOR_DISPERSION`]. For a rate limiter, the dispersion is at most [`MAX_REFUSED_PER_DRAW`]. Each window counts as
/// at least one independent draw.
pub(super) fn dispersions(
    windows: &[WindowObservation],
    constraint: &Constraint,
    found: Option<CapacityEstimate>,
    scale: f64,
) -> Vec<f64> {
    let full = constraint.full.or(found.map(|f| constraint.saturation(f.rate, f.steep)));
    let of = |w: &WindowObservation| {
        let short = full.map_or(0.1, |full| (1.0 - w.rate / full).abs());
        let forgets =
            if let ConstraintKind::Refused { .. } = constraint.kind { MAX_REFUSED_PER_DRAW } else { f64::INFINITY };
        let kind = if w.equal_gaps { PRIOR_DISPERSION.1 / PRIOR_DISPERSION.0 } else { 1.0 };
        let past = full.is_some_and(|full| w.rate > full);
        let least = if past { w.answered / MAX_SATURATED_DRAWS } else { 1.0 };
        (scale * kind * (4.0 / (short * short)).min(forgets)).max(least).clamp(1.0, w.answered.max(1.0))
    };
    windows.iter().map(of).collect()
}
