//! Resources needed for twice the capacity, predicted by the model of `what-if`.

use run::{Bottleneck, Capacity, ResourceNeed};

use super::beside;
use super::model::{CONCURRENCY, Model, Part};
use super::pooled::{loaded, resource_of, today};
use super::solve::most;
use super::{more_workers_do_not_help, moved};
use crate::Facts;

/// Verdicts for which more resources do not raise the capacity, or would raise it by an unknown amount.
const NO_RESOURCE: &[&str] = &["unknown", "not-saturated", "server-rate-limit", ""];
/// Largest factor by which resources may grow. Advice to give a resource more than 16 times its size would be useless.
const MAX_REPORTED_FACTOR: f64 = 16.0;

/// Returns the resources that would be full before the server reaches twice its capacity. The resources are in the
/// order in which they become full as the rate grows.
///
/// Returns an empty list if no rate met the objective, if the verdict names no resource, or if requests take turns.
pub(crate) fn to_double(facts: &Facts<'_>, capacity: Option<&Capacity>, verdict: &Bottleneck) -> Vec<ResourceNeed> {
    let has_resource = !NO_RESOURCE.contains(&verdict.id.as_str()) && !verdict.serial;
    let has_resource =
        has_resource && (resource_of(facts, &verdict.id) != CONCURRENCY || more_workers_do_not_help(facts).is_none());
    let Some(capacity) = capacity.filter(|c| c.held && has_resource) else { return Vec::new() };
    let full = resource_of(facts, &verdict.id);
    let model = facts.decisive.and_then(|t| today(facts, t, full, &loaded(facts, full)));
    let Some(model) = model else { return Vec::new() };
    let model = Model { contention: beside::contention(facts, &model), ..model };
    let target = most(&model) * times(&model);
    let parts = short(&model, target);
    let mut then = model.clone();
    let needed = |part: &Part| {
        let factor = target / part.limit();
        then.times(part.id, factor);
        let reaches = capacity.rate * moved(&model, &then);
        ResourceNeed { id: part.id.into(), device: part.device.clone(), factor, reaches }
    };
    parts.iter().map(needed).filter(|n| n.factor.is_finite() && n.reaches.is_finite()).collect()
}

/// Returns the resources that are full below a rate. The resources are in the order in which they become full as the
/// rate grows.
fn short(model: &Model, target: f64) -> Vec<Part> {
    let mut parts: Vec<Part> = model.resources().into_iter().filter(|p| p.limit() < target).collect();
    parts.sort_by(|a, b| a.limit().total_cmp(&b.limit()));
    parts
}

/// Returns the factor by which the highest rate that the resources allow must grow to double the capacity. The factor
/// is 2, or more if clients slow each other.
///
/// If even the largest factor is too small to double the capacity, returns 2. The result then shows the capacity with
/// resources that allow twice the highest rate.
fn times(model: &Model) -> f64 {
    let doubles = |times: f64| {
        let target = most(model) * times;
        let mut then = model.clone();
        short(model, target).iter().for_each(|part| then.times(part.id, target / part.limit()));
        moved(model, &then) >= 2.0 - 1e-9
    };
    if doubles(2.0) || !doubles(MAX_REPORTED_FACTOR) {
        return 2.0;
    }
    let halved = |(low, high): (f64, f64), _| {
        let middle = f64::midpoint(low, high);
        if doubles(middle) { (low, middle) } else { (middle, high) }
    };
    (0..30).fold((2.0, MAX_REPORTED_FACTOR), halved).1
}
