//! Capacity by all windows of a search together, with an interval: the rate at which the share of late answers crosses what is allowed.
//!
//! The model is that of a queue near its limit. Waits there are exponential (J. Kingman, *JRSS B* 24, 1962), and their mean grows as one
//! over the distance from saturation. So the logarithm of the share of answers that take longer than a limit is a straight line of the
//! offered rate, and it reaches 0 where the server is full: `ln P(rate) = ln allowed + steep * (rate - c) / c`. For M/M/1 this is exact.
//! `c` is the capacity, `steep` its elasticity. Both have a posterior on a grid:
//!
//! - Answers of one window are no independent draws: a long queue stays long. A window is worth `answered / dispersion` draws. The
//!   dispersion is about `4 (1 + steep / ln(1 / allowed))^2`, twice the relaxation time of M/M/1 times its rate (P. Morse, 1955), scaled
//!   by the scatter of the windows.
//! - The rate at which the closed loop was full says within some 5 % where the line reaches 0.
//!
//! A grid needs no convergence. It takes windows in which all answers or none were late, and its interval is as lopsided as the evidence.

mod chance;
mod constraint;
mod dispersion;
mod estimate;
mod grid;
mod slow;
mod speed;
mod transient;
mod weights;

pub use chance::chance_held;
pub use constraint::{Constraint, ConstraintKind, WindowObservation};
pub use estimate::CapacityEstimate;
pub use transient::Span;

use dispersion::{EXPECTED, dispersions};
use grid::{Grid, scatter};
use slow::widened;

/// Number of windows that the prior dispersion counts for.
const THOUGHT: f64 = 8.0;
/// Least and greatest factor that the scatter of windows may put on the dispersion. A machine whose speed changes scatters windows too;
/// [`speed`] tells that apart from queues that forget slowly.
const SCALE: (f64, f64) = (0.2, 1.5);

/// Estimates the capacity from all windows; `None` without a window that holds finite numbers.
pub fn estimate(windows: &[WindowObservation], constraint: &Constraint) -> Option<CapacityEstimate> {
    let sound = |w: &&WindowObservation| w.rate > 0.0 && w.rate.is_finite() && w.answered > 0.0 && w.late >= 0.0;
    let windows: Vec<WindowObservation> = windows.iter().filter(sound).copied().collect();
    let rates = || windows.iter().map(|w| w.rate).chain(constraint.full);
    let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    let whole = ((least * 0.3).ln(), (most * 1.6).ln());
    let grid = Grid::new(&windows, constraint, whole);
    let mut dispersion = EXPECTED.0;
    let mut found: Option<CapacityEstimate> = None;
    for _ in 0..2 {
        let dispersions = dispersions(&windows, constraint, found, dispersion);
        let now = grid.posterior(&dispersions).estimate()?;
        // Each pass starts from the prior: one that started from its own answer would believe itself.
        let more = scatter((&windows, &dispersions), constraint, &now, (dispersion / EXPECTED.0, THOUGHT));
        dispersion = EXPECTED.0 * more.clamp(SCALE.0, SCALE.1);
        found = Some(now);
    }
    let dispersions = dispersions(&windows, constraint, found, dispersion);
    let near = Grid::new(&windows, constraint, grid.posterior(&dispersions).span());
    near.posterior(&dispersions).estimate().map(|found| widened(found, constraint))
}
