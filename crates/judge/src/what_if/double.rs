//! What it would take to double the capacity.

use run::{Bottleneck, Capacity, Needed};

use super::model::Model;
use super::pooled::{loaded, with_demands_of};
use crate::Facts;

/// Verdicts after which doubling resources would be no answer.
const NO_RESOURCE: &[&str] = &["unknown", "not-saturated", "server-rate-limit", ""];

/// Resources that would be full before twice the capacity, in the order in which they would stop the server. Empty where
/// the verdict names no resource.
pub(crate) fn to_double(facts: &Facts<'_>, capacity: Option<&Capacity>, verdict: &Bottleneck) -> Vec<Needed> {
    let Some(capacity) = capacity.filter(|c| c.held && !NO_RESOURCE.contains(&verdict.id.as_str())) else {
        return Vec::new();
    };
    let Some(model) = facts.decisive.and_then(|t| Model::of(facts, t, &verdict.id)) else { return Vec::new() };
    let model = with_demands_of(&model, &loaded(facts, &verdict.id).iter().collect::<Vec<_>>());
    let target = 2.0 * capacity.rate;
    let mut parts: Vec<_> = model.parts().into_iter().filter(|p| p.limit() < target).collect();
    parts.sort_by(|a, b| a.limit().total_cmp(&b.limit()));
    let reaches = |at: usize| parts.get(at + 1).map_or(target, |p| p.limit().min(target));
    let needed = |(at, part): (usize, &super::model::Part)| Needed {
        id: part.id.into(),
        device: part.device.clone(),
        factor: target / part.limit(),
        reaches: reaches(at).max(capacity.rate),
    };
    parts.iter().enumerate().map(needed).filter(|n| n.factor.is_finite() && n.reaches.is_finite()).collect()
}
