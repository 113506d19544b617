//! Predictions for other resources or another load.
//!
//! The demands of the run's decisive trial (which represents the run) give a queueing network. The queueing network is
//! solved exactly (by mean value analysis) before and after the change. The idea comes from R. Blake, *Optimizing
//! Windows NT* (1993), whose model has one demand per device. loadline's model also has queues with several servers,
//! quotas and delays. In loadline's model, clients also slow each other if the sweep shows that they do.
//!
//! The intervals come from a bootstrap: the model is solved for many random selections of the run's trials. The model's
//! error widens the intervals of the predictions.

mod beside;
mod bounds;
mod change;
mod contention;
mod curve;
mod double;
mod elsewhere;
mod intervals;
mod model;
mod next;
mod outside;
mod pooled;
mod seen;
mod slowed;
mod solve;
mod today;

use run::{Change, Estimate, Resource, Run, WaitCause, WaitFinding, WhatIf};

use crate::Facts;
use crate::thresholds::FEWEST_WINDOWS;
use crate::waits;
use curve::{MOST_USERS, curve, under_way};
use intervals::intervals;
use model::{CONCURRENCY, Model, Part};
use seen::Seen;
use solve::{most_with, solve};
use stats::normal;
use today::Today;

pub(crate) use double::to_double;
pub(crate) use next::next;
pub(crate) use slowed::{Slowed, slowed};

/// Number of draws of the bootstrap, with at most [`MANY_USERS`] users.
const DRAWS: usize = 200;
/// Number of draws of the bootstrap, with more than [`MANY_USERS`] users.
const FEW_DRAWS: usize = 40;
/// Number of users above which the bootstrap makes fewer draws.
const MANY_USERS: u32 = 5_000;

/// Predicts the effect of a change. The error message gives the reason if no prediction is possible. A prediction is
/// impossible, for example, if the run lacks data, the change is empty or contradictory, or the limit is deliberate.
pub fn what_if(run: &Run, change: &Change) -> Result<WhatIf, String> {
    let facts = Facts::of(run);
    let trial = facts.decisive.ok_or("the run has no trial that completed anything: run `loadline find` first")?;
    let verdict = pooled::resource_of(&facts, &run.findings.bottleneck.id);
    let loaded = pooled::loaded(&facts, verdict);
    let now = pooled::today(&facts, trial, verdict, &loaded)
        .ok_or("no answer of the run's decisive trial had the expected status")?;
    let now = Model { contention: beside::contention(&facts, &now), ..now };
    change::possible(run, &now, change)?;
    let held = more_workers_do_not_help(&facts).filter(|_| change.workers.is_some() && verdict == CONCURRENCY);
    if let Some(held) = held {
        return Err(format!("{}: more workers do not raise the rate", held.sentence));
    }
    let asked = change;
    let change = &change::of_arrivals(&now, change);
    let then = change::changed(&now, change);
    if then.users > MOST_USERS {
        return Err(format!("{} users are more than the {MOST_USERS} that are solved for", then.users));
    }
    let measured = Model { arrivals: now.arriving_s.map(|_| now.rate), ..now.clone() };
    let seen = Seen { users: now.users, modelled: solve(&measured).0, completed: now.rate };
    if seen.misses() {
        return Err(seen.refusal());
    }
    let today = Today::of(&facts, &now, &then, change);
    let mut answer = answered(&today, &now, &then, change);
    let think_s = change.think_s.unwrap_or(now.think_s);
    answer.now = solve(&Model { users: then.users, think_s, arrivals: then.arrivals, ..now.clone() }).0;
    let drawn = drawn(&loaded, &now, change, &today);
    let in_places = now.in_places().map(|places| answered(&today, &places, &change::changed(&places, change), change));
    bounds::mark(&mut answer, &facts, &now);
    intervals(&mut answer, drawn.as_deref().unwrap_or_default(), &seen, in_places.as_ref());
    if let Some(outside_s) = outside::outside_s(trial, &measured) {
        outside::subtract(&mut answer, outside_s, &now, &then);
    }
    bounds::open_ends(&mut answer);
    if pooled::without_capacity(&facts, &now, verdict) {
        answer.capacity = Estimate { value: f64::NAN, low: f64::NAN, high: f64::NAN };
    }
    answer.changes = change::in_words(&now, asked);
    answer.assumptions = next::light(&facts, &now).into_iter().collect();
    answer.assumptions.extend(change::assumptions(run, &now, &then, change, &seen));
    answer.assumptions.extend(today.said);
    answer.assumptions.extend(in_places.map(|_| intervals::one_level(&now)));
    if drawn.is_none() {
        let few = "the run has too few loaded trials for an interval: it shows only how far the model is off";
        answer.assumptions.push(few.into());
    }
    Ok(answer)
}

/// Returns the cause for which requests wait inside the server, if more workers do not help against it: a lock, for
/// example. More workers, or more connections of a full pool, help against a full pool.
fn more_workers_do_not_help<'a>(facts: &'a Facts<'_>) -> Option<&'a WaitFinding> {
    let is_pool = |cause: WaitCause| matches!(cause, WaitCause::WorkerPool | WaitCause::ConnectionPool);
    waits::queue_inside(&facts.waits).filter(|finding| !is_pool(finding.cause))
}

/// Returns the factor by which a change of resources multiplies the capacity. The capacity is the rate at which one of
/// the resources becomes full, reduced by the loss to contention.
fn moved(now: &Model, then: &Model) -> f64 {
    most_with(then) / most_with(now)
}

/// Makes the answer without the comparison with the unchanged queueing network, which bootstrap draws do not need.
fn answered(today: &Today, now: &Model, then: &Model, change: &Change) -> WhatIf {
    let ((rate, response_s), exactly) = (solve(then), |v| Estimate::around(v, 0.0));
    let limited = |p: &Part| Resource {
        id: p.id.into(),
        device: p.device.clone(),
        limit: p.limit(),
        utilization: rate / p.limit(),
        ..Resource::default()
    };
    let mut resources: Vec<Resource> = then.resources().iter().map(limited).collect();
    resources.sort_by(|a, b| a.limit.total_cmp(&b.limit));
    WhatIf {
        change: change.clone(),
        changes: Vec::new(),
        users: then.arrivals.map_or(then.users, |_| under_way(rate, response_s)),
        now: f64::NAN,
        rate: exactly(rate),
        response_us: exactly(response_s * 1e6),
        capacity: exactly(today.rate * moved(now, then)),
        at_least: false,
        bottleneck: None,
        resources,
        curve: curve(then),
        assumptions: Vec::new(),
    }
}

/// Returns one answer for each bootstrap draw. Each draw uses the mean demands of randomly selected trials. Returns
/// `None` if the run has too few trials for a bootstrap.
fn drawn(models: &[Model], now: &Model, change: &Change, today: &Today) -> Option<Vec<WhatIf>> {
    if models.len() < FEWEST_WINDOWS {
        return None;
    }
    let users = change.users.unwrap_or(now.users);
    let draws = if users > MANY_USERS { FEW_DRAWS } else { DRAWS };
    let mut random = fastrand::Rng::with_seed(1);
    // The predicted capacity cannot be more exact than the measured capacity.
    let known = today.ln_sd;
    let draw = |_| {
        let drawn: Vec<&Model> = (0..models.len()).map(|_| &models[random.usize(..models.len())]).collect();
        let model = pooled::with_demands_of(now, &drawn);
        let model = Model { contention: now.contention.map(|c| c.drawn(&mut random)), ..model };
        let mut answer = answered(today, &model, &change::changed(&model, change), change);
        answer.capacity.value *= (known.unwrap_or(0.0) * normal(&mut random)).exp();
        answer
    };
    Some((0..draws).map(draw).collect())
}

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
