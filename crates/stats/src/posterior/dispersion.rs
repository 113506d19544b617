//! Independent draws that a window is worth: answers of one window depend on each other, since a long queue stays long.

use super::constraint::{Constraint, ConstraintKind, SPREAD, WindowObservation};
use super::estimate::CapacityEstimate;

/// Prior dispersion as a multiple of that of M/M/1: with Poisson arrivals, and with equal gaps.
pub(super) const EXPECTED: (f64, f64) = (1.0, 0.3);
/// Greatest number of draws that a window past saturation is worth. The moment at which its queue passes the limit depends on when the
/// load began and on the server's speed just then, both known only to some percent of the window.
const PAST: f64 = 50.0;

/// Returns the independent draws that one window is worth by the prior dispersion.
pub(super) fn worth(window: &WindowObservation, constraint: &Constraint) -> f64 {
    let dispersion = dispersions(std::slice::from_ref(window), constraint, None, EXPECTED.0);
    dispersion.first().map_or(1.0, |dispersion| window.answered / dispersion)
}

/// Greatest number of refused requests that are worth one draw: a limiter's burst bounds how long it remembers.
const LIMITER: f64 = 100.0;

/// Returns the standard deviation of the logarithm of a mean of so many draws.
pub(super) fn mean_spread(draws: f64) -> f64 {
    (SPREAD / draws).sqrt()
}

/// Returns for each window the number of answers that are worth one draw: twice the relaxation time of M/M/1 times the rate, on
/// either side of saturation. A window is worth at least one draw.
pub(super) fn dispersions(
    windows: &[WindowObservation],
    constraint: &Constraint,
    found: Option<CapacityEstimate>,
    scale: f64,
) -> Vec<f64> {
    let full = constraint.full.or(found.map(|f| constraint.saturation(f.rate, f.steep)));
    let of = |w: &WindowObservation| {
        let short = full.map_or(0.1, |full| (1.0 - w.rate / full).abs());
        let forgets = if let ConstraintKind::Refused { .. } = constraint.kind { LIMITER } else { f64::INFINITY };
        let kind = if w.equal_gaps { EXPECTED.1 / EXPECTED.0 } else { 1.0 };
        let past = full.is_some_and(|full| w.rate > full);
        let least = if past { w.answered / PAST } else { 1.0 };
        (scale * kind * (4.0 / (short * short)).min(forgets)).max(least).clamp(1.0, w.answered.max(1.0))
    };
    windows.iter().map(of).collect()
}
