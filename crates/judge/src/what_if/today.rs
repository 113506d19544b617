//! Capacity before a change of resources: the run's capacity under its objective. A change that makes answers slower,
//! such as a longer network path, uses up a part of the objective's time.

use run::{Change, Limits, Run};

use super::model::Model;
use super::solve::alone_s;
use crate::Facts;
use crate::context::repeats::capacity_under;
use crate::estimate::objective::longest_mean_us;
use crate::number::{duration, finite};
use crate::thresholds::DELAY_COUNTS;
use stats::ln_sd;

/// Capacity before any resource is changed.
pub(super) struct Today {
    /// Requests per second; 0 if no rate met the objective.
    pub(super) rate: f64,
    /// Standard deviation of the rate's logarithm; `None` if unknown.
    pub(super) ln_sd: Option<f64>,
    /// Sentence about the part of the objective's time that the change uses up.
    pub(super) said: Option<String>,
}

impl Today {
    /// Returns the capacity before a change of resources. The time that the change adds to each answer is taken from
    /// the limits that the objective names. Default limits stay unchanged, because a default limit grows with the
    /// response time of one client, and so with the added time.
    pub(super) fn of(facts: &Facts<'_>, now: &Model, then: &Model, change: &Change) -> Self {
        let run = facts.run;
        let found = run.findings.capacity.as_ref().filter(|c| c.held);
        let sd = |low: Option<f64>, high: Option<f64>| low.zip(high).and_then(|(l, h)| finite(ln_sd(l, h)));
        let rate = found.map_or(now.rate, |c| c.rate);
        let before = Self { rate, ln_sd: found.and_then(|c| sd(c.low, c.high)), said: None };
        let held_apart = then.places.map_or(0.0, |_| change.delay_s.unwrap_or(0.0));
        let longer_us = 1e6 * (alone_s(then) - alone_s(now) + held_apart);
        let named = longest_mean_us(&limits_named(run)).filter(|limit| longer_us > DELAY_COUNTS * limit);
        if found.is_none() || named.is_none() {
            return before;
        }
        let text = &facts.limits.text;
        let longer = format!("the change makes every answer {} longer", duration(longer_us));
        let less = less(&facts.limits, longer_us).and_then(|limits| capacity_under(run, &run.trials, &limits));
        // The capacities with and without the added time must come from one method, so the run's own estimate of its
        // capacity is not used.
        let both = less.zip(capacity_under(run, &run.trials, &facts.limits));
        match both {
            Some((less, whole)) => Self {
                rate: rate * (less.rate / whole.rate).min(1.0),
                ln_sd: sd(less.low, less.high).or(before.ln_sd),
                said: Some(format!(
                    "{longer}, so the capacity is the highest rate that holds {text} with that much less time"
                )),
            },
            None => Self { rate: 0.0, ln_sd: None, said: Some(format!("{longer}: no rate holds {text} any more")) },
        }
    }
}

fn limits_named(run: &Run) -> Limits {
    let asked = &run.plan.objective;
    Limits {
        p50_us: asked.p50_us,
        p99_us: asked.p99_us,
        p99_9_us: asked.p99_9_us,
        mean_us: asked.mean_us,
        ..Limits::default()
    }
}

/// Returns the limits on the response time, each reduced by `us` microseconds. Returns `None` if `us` is at least as
/// long as a limit.
fn less(limits: &Limits, us: f64) -> Option<Limits> {
    let left = |limit: Option<f64>| limit.map(|limit| limit - us);
    let [p50_us, mean_us, p99_us, p99_9_us] = [limits.p50_us, limits.mean_us, limits.p99_us, limits.p99_9_us].map(left);
    let some = [p50_us, mean_us, p99_us, p99_9_us].into_iter().flatten().all(|left| left > 0.0);
    some.then(|| Limits { p50_us, mean_us, p99_us, p99_9_us, ..limits.clone() })
}
