//! Estimates the capacity from all measurement windows of a capacity search, with an interval. The capacity is the rate
//! at which the share of late answers reaches the allowed share.
//!
//! The model describes a queue near saturation. Waiting times in a queue near saturation are exponential (J. Kingman,
//! *JRSS B* 24, 1962), and their mean is inversely proportional to the distance from saturation. The logarithm of the
//! share of late answers is therefore a linear function of the offered rate, and reaches 0 at saturation:
//!
//! `ln P(rate) = ln allowed + steep * (rate - c) / c`
//!
//! The capacity is `c`. `steep` is the elasticity of the share of late answers with respect to the rate, at the
//! capacity. For M/M/1 the model is exact. Capacity and elasticity are estimated together, on a grid:
//!
//! - Answers of one window are not independent draws, because a long queue stays long for a while. A window counts as
//!   `answered / dispersion` independent draws. The dispersion is about `4 (1 + steep / ln(1 / allowed))^2`. The
//!   dispersion equals twice the product of the rate and the relaxation time of an M/M/1 queue (P. Morse, 1955). If the
//!   windows scatter more or less than the dispersion predicts, the dispersion is multiplied by a factor.
//! - The saturation rate that the closed loop measured predicts, within about 5 %, the rate at which `ln P(rate)`
//!   reaches 0.
//!
//! On a grid, an estimate exists for any set of windows. The estimate can also use windows in which all answers were
//! late, or none. The interval of the capacity may be asymmetric.

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

use dispersion::{PRIOR_DISPERSION, dispersions};
use grid::{COARSE_RATES, Grid, RATES, scatter};
use slow::widened;

/// Weight of the prior dispersion, as a number of windows.
const PRIOR_WINDOWS: f64 = 8.0;
/// Minimum and maximum factor by which the dispersion is multiplied to fit the scatter of the windows. Windows scatter
/// for two reasons: queues change slowly, and the speed of the machine changes. The dispersion describes the queues;
/// the module [`speed`] describes the changes of the machine's speed.
const DISPERSION_FACTORS: (f64, f64) = (0.2, 1.5);

/// Estimates the capacity from all valid windows. Returns `None` if there is neither a valid window nor a saturation
/// rate, or if the estimate is not finite.
pub fn estimate(windows: &[WindowObservation], constraint: &Constraint) -> Option<CapacityEstimate> {
    let sound = |w: &&WindowObservation| w.rate > 0.0 && w.rate.is_finite() && w.answered > 0.0 && w.late >= 0.0;
    let windows: Vec<WindowObservation> = windows.iter().filter(sound).copied().collect();
    let rates = || windows.iter().map(|w| w.rate).chain(constraint.full);
    let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    let whole = ((least * 0.3).ln(), (most * 1.6).ln());
    let grid = Grid::new(&windows, constraint, whole, COARSE_RATES);
    let mut dispersion = PRIOR_DISPERSION.0;
    let mut found: Option<CapacityEstimate> = None;
    for _ in 0..2 {
        let dispersions = dispersions(&windows, constraint, found, dispersion);
        let now = grid.posterior(&dispersions).estimate()?;
        // Each pass over the windows starts again from the prior distribution. Starting from the previous posterior
        // would count all windows twice.
        let more =
            scatter((&windows, &dispersions), constraint, &now, (dispersion / PRIOR_DISPERSION.0, PRIOR_WINDOWS));
        dispersion = PRIOR_DISPERSION.0 * more.clamp(DISPERSION_FACTORS.0, DISPERSION_FACTORS.1);
        found = Some(now);
    }
    let dispersions = dispersions(&windows, constraint, found, dispersion);
    let near = Grid::new(&windows, constraint, grid.posterior(&dispersions).span(), RATES);
    near.posterior(&dispersions).estimate().map(|found| widened(found, constraint))
}
