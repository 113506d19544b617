//! Predictions that depend on the limit of a lightly used resource. A request costs more CPU time under a light load,
//! so the limit of a lightly used resource is only a lower bound. A figure that follows from a lower bound of a limit
//! is itself a bound, and has no interval.

use run::{Estimate, WhatIf};

use super::model::Model;
use super::next::{is_lightly_used, light};
use crate::Facts;
use crate::thresholds::BUSY;

/// Marks the predicted limits of lightly used resources as lower bounds, like the rate of the next bottleneck in a
/// verdict. If all loads of the run were light, the rate before the change is the run's own rate, because the model
/// knows no highest rate for another load.
pub(super) fn mark(answer: &mut WhatIf, facts: &Facts<'_>, now: &Model) {
    let parts = now.resources();
    let is_light = |id: &str| parts.iter().any(|part| part.id == id && is_lightly_used(facts, part));
    answer.resources.iter_mut().for_each(|resource| resource.at_least = is_light(&resource.id));
    if light(facts, now).is_some() {
        answer.now = now.rate;
    }
}

/// Replaces the intervals of figures that follow from a lower bound. The prediction follows from a lower bound if the
/// resource with the lowest limit has only a lower bound and would be busy.
pub(super) fn open_ends(answer: &mut WhatIf) {
    for resource in answer.resources.iter_mut().filter(|resource| resource.at_least) {
        (resource.low, resource.high) = (resource.limit, f64::INFINITY);
    }
    let Some(first) = answer.resources.first().filter(|first| first.at_least) else { return };
    // A capacity of 0 means that the change alone exceeds the objective, whatever the limits are.
    if answer.capacity.value > 0.0 {
        answer.capacity = at_least(answer.capacity.value);
    }
    if first.utilization < BUSY {
        return;
    }
    let (limit, is_beyond) = (first.limit, answer.response_us.value.is_infinite());
    answer.at_least = true;
    answer.bottleneck = None;
    answer.rate = match answer.change.rate {
        Some(asked) if !is_beyond => Estimate::around(asked, 0.0),
        _ => at_least(answer.rate.value),
    };
    // If requests arrive faster than the lower bound of the server's highest rate, it is unknown whether they are
    // answered in time. In a closed loop, the server may in truth reach a higher rate than the lower bound, and the
    // response time may be shorter than predicted.
    let most_us = if is_beyond { f64::NAN } else { answer.response_us.value };
    answer.response_us = Estimate { value: most_us, low: f64::NAN, high: most_us };
    answer.curve.retain(|point| point.rate < BUSY * limit);
    let busy = answer.resources.iter_mut().filter(|resource| resource.at_least && resource.utilization >= BUSY);
    busy.for_each(|resource| resource.utilization = f64::NAN);
}

/// Returns an estimate without an upper end.
fn at_least(value: f64) -> Estimate {
    Estimate { value, low: value, high: f64::INFINITY }
}
