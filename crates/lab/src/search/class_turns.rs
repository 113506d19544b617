//! Measurement of the cost of each class of requests. Short loads give one class after another a larger share of the
//! requests. Crate `judge` computes the costs of the classes.

use run::{LoadPlan, RequestOrder, RequestSet, TrialKind};

use crate::search::Conductor;
use crate::search::cost_turns;
use crate::trial::turn_order::ROUNDS;
use crate::{LabError, Point};

/// Minimum length of a measurement with its warm-up, seconds.
const MIN_WINDOW_S: f64 = 0.16;
/// Maximum number of classes whose cost is measured; the classes with the largest weights come first. Classes whose
/// cost is not measured keep their original proportions in every load.
const MAX_CLASSES: usize = 8;

/// Returns the part of a budget for measuring the cost of each class, seconds; 0 with too little time or fewer than two
/// classes.
pub(crate) fn seconds(load: &LoadPlan, budget_s: f64) -> f64 {
    cost_turns::seconds(load.blocks.is_none() && raised(load, budget_s * cost_turns::BUDGET_SHARE).len() > 1, budget_s)
}

/// Returns the seconds to reserve for measuring the cost of each request class, including the overhead of the load
/// tests.
pub(crate) fn reserved_s(load: &LoadPlan, seconds: f64, overhead_s: f64) -> f64 {
    if seconds > 0.0 { cost_turns::reserved_s(seconds, 1 + raised(load, seconds).len(), overhead_s) } else { 0.0 }
}

/// Returns the classes whose cost is measured, heaviest first, as far as time allows. Returns no class for sequences
/// and recorded requests, because their order or their times are fixed.
fn raised(load: &LoadPlan, seconds: f64) -> Vec<String> {
    let Some(set) = load.requests.as_ref().filter(|set| set.order != RequestOrder::Sequence && set.recorded.is_none())
    else {
        return Vec::new();
    };
    let (names, class_of) = set.classes();
    let mut weights: Vec<(f64, String)> = names.into_iter().map(|name| (0.0, name)).collect();
    let add = |(at, class): (usize, &u16)| weights[usize::from(*class)].0 += set.requests[at].weight.max(0.0);
    class_of.iter().enumerate().for_each(add);
    weights.retain(|(weight, _)| *weight > 0.0);
    weights.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = (seconds / (MIN_WINDOW_S * ROUNDS as f64)).floor() as usize;
    weights.into_iter().map(|(_, name)| name).take(most.saturating_sub(1).min(MAX_CLASSES)).collect()
}

/// Returns the set with changed weights: half of all requests come from one class, and the other half from all classes
/// in the original proportions. If `raised` is `None`, all proportions stay the same.
fn with_raised(set: &RequestSet, raised: Option<&str>) -> RequestSet {
    let (names, class_of) = set.classes();
    let mut changed = set.clone();
    changed.order = RequestOrder::Weighted;
    let place = raised.and_then(|raised| names.iter().position(|name| name == raised));
    let mine: Vec<bool> = class_of.iter().map(|class| place == Some(usize::from(*class))).collect();
    let (mut all, mut own) = (0.0, 0.0);
    for (request, mine) in changed.requests.iter().zip(&mine) {
        all += request.weight.max(0.0);
        own += if *mine { request.weight.max(0.0) } else { 0.0 };
    }
    let by = if own > 0.0 { (own + all) / own } else { 1.0 };
    changed.requests.iter_mut().zip(&mine).filter(|(_, mine)| **mine).for_each(|(request, _)| request.weight *= by);
    changed
}

/// Conducts the loads that measure the cost of each class, within about `seconds` seconds.
pub(crate) fn conduct(conductor: &mut dyn Conductor, seconds: f64) -> Result<(), LabError> {
    let load = conductor.load().clone();
    let raised = raised(&load, seconds);
    let kinds: Vec<Option<String>> = [None].into_iter().chain(raised.into_iter().map(Some)).collect();
    if kinds.len() < 2 {
        return Ok(());
    }
    let turn_window = |kind: usize, turn: usize| window(&load, kinds[kind].as_deref(), turn);
    cost_turns::conduct(conductor, seconds, "the classes cost", kinds.len(), turn_window)
}

fn window(load: &LoadPlan, raised: Option<&str>, turn: usize) -> (LoadPlan, Point) {
    let plan = LoadPlan {
        requests: load.requests.as_ref().map(|set| with_raised(set, raised)),
        seed: load.seed.wrapping_add(turn as u64),
        ..load.clone()
    };
    let label = raised.map_or("the mix as it is".into(), |name| format!("more of {name}"));
    let mut point = Point { label, kind: TrialKind::Classes, ..Point::default() };
    point.key.class = raised.map(str::to_owned);
    (plan, point)
}

#[cfg(test)]
mod tests {
    use run::RequestPlan;

    use super::*;

    fn set(weights: &[(&str, f64)], order: RequestOrder) -> RequestSet {
        let request = |(name, weight): &(&str, f64)| RequestPlan {
            name: (*name).into(),
            weight: *weight,
            ..RequestPlan::default()
        };
        RequestSet { requests: weights.iter().map(request).collect(), order, ..RequestSet::default() }
    }

    fn shares(set: &RequestSet) -> Vec<f64> {
        let all: f64 = set.requests.iter().map(|r| r.weight).sum();
        set.requests.iter().map(|r| (100.0 * r.weight / all).round()).collect()
    }

    #[test]
    fn half_of_all_requests_go_to_a_class_and_the_others_keep_their_proportions() {
        let mix = set(&[("a", 6.0), ("b", 3.0), ("c", 1.0)], RequestOrder::Weighted);
        assert_eq!(shares(&with_raised(&mix, Some("b"))), [30.0, 65.0, 5.0]);
        assert_eq!(with_raised(&mix, None), mix);
        assert_eq!(with_raised(&mix, Some("unknown")), mix);
        let shuffled = with_raised(&set(&[("a", 6.0), ("b", 3.0)], RequestOrder::Shuffle), Some("b"));
        assert_eq!((shares(&shuffled), shuffled.order), (vec![33.0, 67.0], RequestOrder::Weighted));
    }

    #[test]
    fn class_turns_need_two_weighted_classes_and_enough_budget() {
        let load =
            |weights: &[(&str, f64)], order| LoadPlan { requests: Some(set(weights, order)), ..LoadPlan::default() };
        let two = load(&[("a", 1.0), ("b", 3.0)], RequestOrder::Weighted);
        assert!((seconds(&two, 30.0) - 3.6).abs() < 1e-9 && seconds(&two, 6.0) == 0.0);
        assert_eq!(raised(&two, 3.6), ["b", "a"], "the heaviest first");
        let reserved = |overhead_s| reserved_s(&two, 3.6, overhead_s);
        assert!((reserved(0.05) - 3.6).abs() < 1e-9 && (reserved(0.2) - (0.8 * 3.6 + 9.0 * 0.2)).abs() < 1e-9);
        assert_eq!(seconds(&load(&[("a", 1.0), ("b", 0.0)], RequestOrder::Weighted), 30.0), 0.0);
        assert_eq!(seconds(&load(&[("a", 1.0), ("b", 3.0)], RequestOrder::Sequence), 30.0), 0.0);
        assert_eq!(seconds(&LoadPlan::default(), 30.0), 0.0);
        let names: Vec<String> = (0..20).map(|i| format!("c{i}")).collect();
        let many: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        assert_eq!(raised(&load(&many, RequestOrder::Weighted), 30.0).len(), MAX_CLASSES);
        assert_eq!(raised(&load(&many, RequestOrder::Weighted), 1.5).len(), 2, "a window has a shortest length");
    }
}
