//! The knee: N* = R1 * Xmax, the number of requests in flight at which the fastest possible growth meets the ceiling.

use run::Knee;

use crate::Facts;
use crate::facts::{Plateau, clients, good};
use crate::number::{finite, positive};

/// The knee of the sweep; `None` without a sweep or when the rate was still growing.
pub(crate) fn knee(facts: &Facts<'_>) -> Option<Knee> {
    let one = facts.unloaded?;
    let x_max = facts.sweep.iter().map(|t| good(t)).reduce(f64::max).and_then(positive)?;
    if !matches!(facts.plateau, Plateau::Flat { .. }) {
        return None;
    }
    let r1_us = r1_us(one)?;
    let reached = facts.sweep.iter().find(|t| good(t) >= 0.95 * x_max);
    Some(Knee {
        concurrency: finite(r1_us / 1e6 * x_max)?,
        r1_us,
        x_max,
        reached_at: reached.map(|t| clients(t)).and_then(finite),
    })
}

/// The response time with one client: mean of the lightest step, scaled down if that step had more than one client in
/// flight only because it could not have fewer.
pub(crate) fn r1_us(unloaded: &run::Trial) -> Option<f64> {
    positive(unloaded.latency_us.mean).or_else(|| positive(unloaded.latency_us.p50))
}
