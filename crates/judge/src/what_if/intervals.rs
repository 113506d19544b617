//! Intervals of a prediction: the middle 95 % of the bootstrap's draws, widened by the error of the model.

use run::{Estimate, Resource, WhatIf};

use super::model::Model;
use super::seen::Seen;
use crate::number::duration;
use crate::thresholds::{BETWEEN_RUNS, BUSY};

/// Sets the interval of every figure of a `what-if` answer. A second queueing network may fit the run as well. `other`
/// is the answer of the second queueing network. Each interval is made wide enough to include the value of its figure
/// in `other`.
pub(super) fn intervals(answer: &mut WhatIf, drawn: &[WhatIf], seen: &Seen, other: Option<&WhatIf>) {
    let of = |figure: &dyn Fn(&WhatIf) -> Option<f64>, value| {
        let found = widened(drawn.iter().filter_map(figure), value, seen);
        let Some(other) = other.and_then(figure) else { return found };
        Estimate { low: found.low.min(other), high: found.high.max(other), ..found }
    };
    answer.rate = of(&|w| Some(w.rate.value), answer.rate.value);
    answer.response_us = of(&|w| Some(w.response_us.value), answer.response_us.value);
    answer.capacity = of(&|w| Some(w.capacity.value), answer.capacity.value);
    for resource in &mut answer.resources {
        let same = |r: &&Resource| (&r.id, &r.device) == (&resource.id, &resource.device);
        let limit = of(&|w| w.resources.iter().find(same).map(|r| r.limit), resource.limit);
        (resource.low, resource.high) = (limit.low, limit.high);
    }
    // Requests cannot complete faster than the resource that is full first allows. The limit by the resource that is
    // full first is often more exact than the capacity that the search found.
    let known = answer.resources.iter().filter(|resource| !resource.at_least);
    let most = known.map(|resource| resource.high).fold(f64::INFINITY, f64::min);
    answer.capacity.high = answer.capacity.high.min(most).max(answer.capacity.value);
    for (at, point) in answer.curve.iter_mut().enumerate() {
        let rate = of(&|w| w.curve.get(at).map(|p| p.rate), point.rate);
        let response_us = of(&|w| w.curve.get(at).map(|p| p.response_us), point.response_us);
        (point.rate_low, point.rate_high) = (rate.low, rate.high);
        (point.response_low_us, point.response_high_us) = (response_us.low, response_us.high);
    }
    if let Some(asked) = answer.change.rate {
        let (low, high) = limits(&answer.resources);
        let between = |offered: f64| (offered.min(low), offered.min(high));
        (answer.rate.low, answer.rate.high) = between(asked);
        for point in &mut answer.curve {
            (point.rate_low, point.rate_high) = between(point.arrivals.unwrap_or(asked));
        }
    }
    answer.bottleneck = answer.resources.first().filter(|r| r.utilization >= BUSY).cloned();
}

/// Returns the assumption about the time that no counter explains, for a run with a single load level.
pub(super) fn one_level(now: &Model) -> String {
    format!(
        "no counter explains {} of each request (a sleep, a wait, distance): one end of the interval takes it as a delay, the other as workers that requests wait for; `loadline find` tells these apart",
        duration(now.elsewhere_s * 1e6)
    )
}

/// Returns the middle 95 % of the draws, widened by two factors: the error of the model, and the usual difference
/// between two runs.
fn widened(drawn: impl Iterator<Item = f64>, value: f64, seen: &Seen) -> Estimate {
    let mut drawn: Vec<f64> = drawn.collect();
    drawn.sort_by(f64::total_cmp);
    let at = |share: f64| drawn.get((share * drawn.len().saturating_sub(1) as f64).round() as usize).copied();
    let off = (seen.modelled / seen.completed).max(seen.completed / seen.modelled);
    let off = (1.0 + BETWEEN_RUNS) * if off.is_finite() { off } else { 1.0 };
    let low = at(0.025).map_or(value, |low| low.min(value)) / off;
    let high = at(0.975).map_or(value, |high| high.max(value)) * off;
    Estimate { value, low, high }
}

/// Returns the lower and the upper bound of the rate (requests per second) that the resources allow.
fn limits(resources: &[Resource]) -> (f64, f64) {
    let least = |of: fn(&Resource) -> f64| resources.iter().map(of).fold(f64::INFINITY, f64::min);
    (least(|r| r.low), least(|r| r.high))
}
