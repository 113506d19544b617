//! What would come of other resources or other users.
//!
//! The demands of the run's decisive trial make a queueing network, which is solved exactly (mean value analysis) as it is
//! and as it would be. The idea is that of R. Blake, *Optimizing Windows NT* (1993), whose model had one demand a device;
//! here stations have several servers, quotas and delays, and clients slow each other where the sweep shows it. Its interval is that of a bootstrap over the run's trials, each of
//! which has demands of its own, widened by how far the model is off where it can be compared.

mod beside;
mod change;
mod contention;
mod curve;
mod double;
mod intervals;
mod model;
mod pooled;
mod seen;
mod slowed;
mod solve;
mod today;

use run::{Change, Estimate, Resource, Run, WhatIf};

use crate::Facts;
use crate::thresholds::FEWEST_WINDOWS;
use curve::{MOST_USERS, curve, under_way};
use intervals::intervals;
use model::{Model, Part};
use seen::Seen;
use solve::{most_with, solve};
use stats::normal;
use today::Today;

pub(crate) use double::to_double;
pub(crate) use slowed::{Slowed, slowed};

/// Draws of the bootstrap; fewer for many users.
const DRAWS: usize = 200;
const FEW_DRAWS: usize = 40;
const MANY_USERS: u32 = 5_000;

/// Answers the question of a change. The error says what the run lacks or why no resource will help.
pub fn what_if(run: &Run, change: &Change) -> Result<WhatIf, String> {
    let facts = Facts::of(run);
    let trial = facts.decisive.ok_or("the run has no trial that completed anything: run `loadline find` first")?;
    let verdict = run.findings.bottleneck.id.as_str();
    let now = Model::of(&facts, trial, verdict).ok_or("the run's decisive trial completed nothing good")?;
    let loaded = pooled::loaded(&facts, verdict);
    let now = pooled::with_demands_of(&now, &loaded.iter().collect::<Vec<_>>());
    let now = Model { contention: beside::contention(&facts, &now), ..now };
    change::possible(run, &now, change)?;
    let then = change::changed(&now, change);
    if then.users > MOST_USERS {
        return Err(format!("{} users are more than the {MOST_USERS} that are solved for", then.users));
    }
    let seen = Seen { users: now.users, modelled: solve(&now).0, completed: now.rate };
    let today = Today::of(&facts, &now, &then, change);
    let mut answer = answered(&today, &now, &then, change);
    let think_s = change.think_s.unwrap_or(now.think_s);
    answer.now = solve(&Model { users: then.users, think_s, arrivals: then.arrivals, ..now.clone() }).0;
    let drawn = drawn(&loaded, &now, change, &today);
    intervals(&mut answer, drawn.as_deref().unwrap_or_default(), &seen);
    answer.assumptions = change::assumptions(run, &now, &then, change, &seen);
    answer.assumptions.extend(today.said);
    if drawn.is_none() {
        let few = "the run has too few loaded trials for an interval: it shows only how far the model is off";
        answer.assumptions.push(few.into());
    }
    Ok(answer)
}

/// How a capacity moves: with the rate at which the first resource is full, and with what those under way there cost each other.
fn moved(now: &Model, then: &Model) -> f64 {
    most_with(then) / most_with(now)
}

/// All but what the network as it is makes of these users, which no draw asks.
fn answered(today: &Today, now: &Model, then: &Model, change: &Change) -> WhatIf {
    let ((rate, response_s), exactly) = (solve(then), |v| Estimate::around(v, 0.0));
    let limited = |p: &Part| Resource {
        id: p.id.into(),
        device: p.device.clone(),
        limit: p.limit(),
        utilization: rate / p.limit(),
        ..Resource::default()
    };
    let mut resources: Vec<Resource> = then.parts().iter().filter(|p| p.units.is_finite()).map(limited).collect();
    resources.sort_by(|a, b| a.limit.total_cmp(&b.limit));
    WhatIf {
        change: change.clone(),
        users: then.arrivals.map_or(then.users, |_| under_way(rate, response_s)),
        now: f64::NAN,
        rate: exactly(rate),
        response_us: exactly(response_s * 1e6),
        capacity: exactly(today.rate * moved(now, then)),
        bottleneck: None,
        resources,
        curve: curve(then),
        assumptions: Vec::new(),
    }
}

/// Answers by networks with the demands of trials drawn again and again; `None` with too few of them.
fn drawn(models: &[Model], now: &Model, change: &Change, today: &Today) -> Option<Vec<WhatIf>> {
    if models.len() < FEWEST_WINDOWS {
        return None;
    }
    let users = change.users.unwrap_or(now.users);
    let draws = if users > MANY_USERS { FEW_DRAWS } else { DRAWS };
    let mut random = fastrand::Rng::with_seed(1);
    // What the change makes of the capacity is as sure as the capacity itself, at most.
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
mod tests;
