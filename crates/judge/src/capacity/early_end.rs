//! Capacity searches that ran out of time. A search that ran out of time gives only a lower bound of the capacity.

use run::number::{prose::whole_rate, span};
use run::{Capacity, GrowingProcesses, WINDOW_GROWTH};

use crate::Facts;
use crate::context::single::clients;
use crate::context::sweep::Plateau;
use crate::thresholds::{FEWEST_WINDOWS, FLAT_STEPS};

/// Returns true if throughput certainly stopped growing: it stayed flat over [`FLAT_STEPS`] doublings of the clients.
/// One doubling without growth is not enough, because the last step of a sweep that ran out of time may have been
/// disturbed.
pub(super) fn stopped_growing(facts: &Facts<'_>) -> bool {
    matches!(facts.plateau, Plateau::Flat { from, to, .. } if to >= 2_f64.powi(FLAT_STEPS as i32) * from)
}

/// Returns the time budget, in seconds, for a complete run. In a complete run, the sweep reaches the maximum number of
/// connections, and the search tries enough rates for an estimate. The number of steps grows more slowly than the
/// budget, because a larger budget also makes windows longer. Returns `None` if a larger time budget would not give a
/// better result, or if the user ended the run before its budget.
pub(super) fn needed_s(facts: &Facts<'_>) -> Option<f64> {
    if facts.run.was_ended_by_user() {
        return None;
    }
    let plan = &facts.run.plan.search;
    let most = f64::from(plan.max_connections.max(1));
    let is_complete = stopped_growing(facts)
        || !facts.outgrown.is_empty()
        || facts.sweep.last().is_some_and(|step| clients(step) >= most);
    let clients_ratio = (most.log2().ceil() + 1.0) / facts.sweep.len().max(1) as f64;
    let rates_ratio = FEWEST_WINDOWS as f64 / facts.search.len().max(1) as f64;
    let by = rates_ratio.max(if is_complete { 1.0 } else { clients_ratio });
    (by > 1.0).then_some(plan.budget_s * by.powf(1.0 / (1.0 - WINDOW_GROWTH)))
}

/// Returns the reason why a capacity is only a lower bound, with advice for the user.
pub(crate) fn words(capacity: &Capacity) -> String {
    let rate = whole_rate(capacity.rate);
    let why = match capacity.failed_at {
        _ if capacity.growing.is_some() => capacity.growing.iter().map(GrowingProcesses::words).collect(),
        Some(failed) => format!("it failed at {}, and too few rates were tried between", whole_rate(failed)),
        None => "no load overloaded it".into(),
    };
    let advice = match capacity.needed_s {
        _ if capacity.growing.is_some() => "raise the budget".into(),
        Some(needed_s) => format!("its search needs about {}", span(needed_s.ceil())),
        None => "raise the budget, or the connections of the load".into(),
    };
    format!("{why}, so its capacity is at least {rate}: {advice}")
}
