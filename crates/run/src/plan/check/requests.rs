//! Checks a set of requests: its size, its weights, its order and its recorded times.

use crate::plan::error::out_of_range;
use crate::{LoadPlan, MAX_REQUESTS, PlanError, RequestOrder, RequestSet};

pub(super) fn check_requests(set: &RequestSet) -> Result<(), PlanError> {
    let n = set.requests.len();
    if n == 0 || n > MAX_REQUESTS {
        return out_of_range("the number of requests", n.to_string(), "give 1 to 65,535");
    }
    let bad = set.requests.iter().find(|r| !(0.0..=1e12).contains(&r.weight));
    if let Some(bad) = bad {
        return out_of_range("the weight of a request", bad.weight.to_string(), "give 0 or more, such as 3");
    }
    if !set.requests.iter().any(|r| r.weight > 0.0) {
        return out_of_range("every weight", "0".into(), "give at least one request a weight above 0");
    }
    let weights: Vec<f64> = set.requests.iter().map(|r| r.weight).collect();
    let is_weighted = set.order == RequestOrder::Weighted || set.recorded.is_some();
    match is_weighted || crate::round_of(&weights).is_some() {
        true => Ok(()),
        false => out_of_range(
            "load.requests.order",
            "a sequence or a shuffle".into(),
            "each round sends a request as often as its weight says: give small whole numbers as weights, or leave --order \
             out",
        ),
    }
}

/// Checks the recorded times of a set of requests, and that requests that depend on responses are not pipelined.
pub(super) fn check_recorded(plan: &LoadPlan) -> Result<(), PlanError> {
    let recorded = plan.requests.as_ref().and_then(|set| Some((set.recorded.as_ref()?, set.requests.len())));
    match recorded {
        _ if plan.requests.as_ref().is_some_and(depends_on_responses) && is_pipelined(plan) => out_of_range(
            "load.intensity.pipeline",
            "above 1".into(),
            "what is captured from an answer, and its cookies, are for the next request: leave --pipeline (--streams) out",
        ),
        Some((r, of)) if r.gaps_us.len() != r.items.len() || r.items.iter().any(|item| usize::from(*item) >= of) => {
            out_of_range(
                "load.requests.recorded",
                format!("{} times", r.gaps_us.len()),
                "give every time a request of the set",
            )
        }
        Some((r, _)) if !(0.001..=100_000.0).contains(&r.speed) => {
            out_of_range("load.requests.recorded.speed", r.speed.to_string(), "give 0.001 to 100,000")
        }
        _ => Ok(()),
    }
}

/// Returns true if requests may depend on responses to earlier requests. Requests depend on responses if the set is
/// sent in sequence, or if a request captures values from responses.
fn depends_on_responses(set: &RequestSet) -> bool {
    set.order == RequestOrder::Sequence || set.requests.iter().any(|request| !request.capture.is_empty())
}

fn is_pipelined(plan: &LoadPlan) -> bool {
    plan.intensity.pipeline() > 1
}
