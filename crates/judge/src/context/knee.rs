//! The knee: the number of requests in flight at which an ideal server would reach its highest rate. The knee is N* =
//! R1 × Xmax: the response time with one client, multiplied by the highest rate.

use run::Knee;

use crate::Facts;
use crate::context::laws::beyond_bound;
use crate::context::single::{clients, good, mostly_refused, r1_us};
use crate::context::sweep::Plateau;
use crate::number::{finite, positive};
use crate::thresholds::KNEE_REACHED;

/// Returns the knee of the sweep. Returns `None` if the sweep has no knee ([`of_sweep`]), or if another measurement
/// contradicts the knee. The report then shows a warning. If more clients did more work than R1 allows, R1 and the knee
/// are too high. If an open loop completed more than the sweep, Xmax and the knee are too low.
pub(crate) fn knee(facts: &Facts<'_>) -> Option<Knee> {
    let is_valid = beyond_bound(facts).is_none() && facts.beyond_closed_loop().is_none();
    of_sweep(facts).filter(|_| is_valid)
}

/// Returns the knee of the sweep, even if another measurement contradicts it. Returns `None` without a sweep, if the
/// rate still grew at the sweep's end, or if most answers of the lightest load were refusals.
pub(crate) fn of_sweep(facts: &Facts<'_>) -> Option<Knee> {
    let one = facts.unloaded.filter(|one| !mostly_refused(one))?;
    let x_max = facts.sweep.iter().map(|t| good(t)).reduce(f64::max).and_then(positive)?;
    if !matches!(facts.plateau, Plateau::Flat { .. }) {
        return None;
    }
    let r1_us = r1_us(one)?;
    let reached = facts.sweep.iter().find(|t| good(t) >= KNEE_REACHED * x_max);
    Some(Knee {
        concurrency: finite(r1_us / 1e6 * x_max)?,
        r1_us,
        x_max,
        reached_at: reached.map(|t| clients(t)).and_then(finite),
    })
}
