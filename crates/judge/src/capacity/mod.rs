//! Capacity: the highest completed rate that meets the objective (limits on latency and errors).

mod chance;
mod counts;
pub(crate) mod early_end;
mod found;
mod held_twice;
mod left_out;
mod left_over;
mod long_run;
pub(crate) mod neighbours;
mod observed;
mod own_pool;
mod pooled;
#[cfg(test)]
mod search_tests;
mod served;
mod tenths;
mod tried;
mod votes;
mod windows;

pub(crate) use found::Found;
pub use neighbours::spoiled;
pub use own_pool::own_pool;
pub use pooled::Pooled;
pub use served::served_connections;
pub use windows::pooled;
pub(crate) use windows::{chances, pooled_users};

use run::{BoundWindows, Capacity, OwnLimit, TrialKind};

use self::found::{nearest, past, without_rate};
use self::tried::Tried;
use self::votes::Votes;
use crate::Facts;
use crate::estimate::objective::holds;
use crate::failed::period_limit::PeriodLimit;
use crate::number::finite;

/// Finds the capacity, and the trial that shows it, from the open-loop search and the sweep (closed-loop steps with
/// more and more clients). In a run without search and sweep, uses the run's other loads. `chances` is the result of
/// the function [`chances`] for the run.
///
/// Closed-loop clients send less while the server is slow. A step of the sweep therefore shows the capacity only if its
/// rate is below the offered rate that missed the objective.
pub(crate) fn capacity<'a>(facts: &Facts<'a>, chances: &[Option<f64>]) -> Option<Found<'a>> {
    // Counters that other tools collected have neither response times nor failures, so no objective applies to them.
    if !facts.run.sent_requests() {
        return None;
    }
    let tried = Tried::of(facts);
    if let Some(limit) = facts.period_limit.as_ref().filter(|_| !facts.run.plan.search.users) {
        return of_periods(facts, limit, &tried, chances);
    }
    let mut trial = tried.found().or_else(|| tried.least())?;
    let votes = Votes::of(facts, chances);
    let whole = tried.estimated.and_then(|estimate| tried.sound(estimate, &votes));
    if let Some(near) = whole.and_then(|p| nearest(facts, p.estimate.rate)) {
        trial = near;
    }
    let failing = match &whole {
        Some(p) => past(facts, chances, p.estimate.rate),
        None => facts.failing,
    };
    let capacity = Capacity {
        rate: whole.map(|p| p.estimate.rate).or(finite((tried.rate_of)(trial)))?,
        method: tried.method(trial, whole.as_ref()),
        held: tried.found().is_some(),
        closed_loop: tried.closed_loop(whole.is_some()),
        at_least: tried.at_least,
        bound_windows: bound_windows(facts).filter(|_| tried.at_least),
        needed_s: early_end::needed_s(facts).filter(|_| tried.at_least),
        low: whole.map(|p| p.estimate.low),
        high: whole.map(|p| p.estimate.high),
        windows: whole.map_or(0, |p| p.windows),
        left_out: whole.and_then(|p| p.left_out),
        own_limit: own_limit(facts),
        ..without_rate(facts, failing)
    };
    Some(long_run::kept_up(facts, chances, Found { capacity, trial, failing }))
}

/// Returns the number of windows of the open-loop search, and the number of those that met the objective. Windows that
/// other programs disturbed count, too, because a lower bound may come from one of them.
fn bound_windows(facts: &Facts<'_>) -> Option<BoundWindows> {
    let windows: Vec<_> = facts.run.trials.iter().filter(|trial| trial.kind == TrialKind::Search).collect();
    let held = windows.iter().filter(|trial| holds(trial, &facts.limits)).count();
    (!windows.is_empty()).then_some(BoundWindows { held: held as u32, all: windows.len() as u32 })
}

/// Returns the capacity of a server that limits the number of requests per period: the rate of good answers over whole
/// periods. A window that is shorter than a period sees only the burst at its beginning, or only refusals, so its rate
/// shows no capacity. If the length of the period is not known, the capacity is below the returned rate.
fn of_periods<'a>(
    facts: &Facts<'a>,
    limit: &PeriodLimit,
    tried: &Tried<'_, 'a>,
    chances: &[Option<f64>],
) -> Option<Found<'a>> {
    let (rate, rates, held) = (finite(limit.rate())?, limit.rates(), limit.is_known());
    let trial = nearest(facts, rate).or_else(|| tried.found()).or_else(|| tried.least())?;
    let failing = past(facts, chances, rate);
    let why = if held { "" } else { "; the run saw no whole period" };
    let capacity = Capacity {
        rate,
        method: format!("good answers over whole periods: {}{why}", limit.text()),
        held,
        low: held.then_some(rates.low),
        high: held.then_some(rates.high),
        ..without_rate(facts, failing)
    };
    Some(Found { capacity, trial, failing })
}

/// Returns the lowest rate at which the load had too few connections. Returns `None` if the search found a rate that
/// missed the objective.
fn own_limit(facts: &Facts<'_>) -> Option<OwnLimit> {
    let limits = facts.own_pool.iter().copied().filter(|_| facts.failing.is_none());
    limits.min_by(|a, b| a.offered_rate.total_cmp(&b.offered_rate))
}

#[cfg(test)]
mod tests;
