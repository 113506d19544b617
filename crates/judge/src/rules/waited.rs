//! Requests that waited in a queue of the server before it refused any.

use run::Trial;

use super::delaying_limit::delays_for_sure;
use crate::Facts;
use crate::context::single::{good, r1_us, refused};
use crate::thresholds::{REFUSED, WIDE};

/// Returns the step with the most clients that reached the limit without refusals, although its requests waited. Also
/// returns the response time of the load with the fewest clients, microseconds. A limit on requests per second without
/// a queue would have refused some of the waiting requests. A limit that delays answers before it refuses any is
/// recognized by quick answers at a lower rate.
pub(super) fn waited<'a>(facts: &Facts<'a>) -> Option<(&'a Trial, f64)> {
    let r1_us = facts.unloaded.filter(|one| refused(one) < REFUSED).and_then(r1_us)?;
    let is_at_limit = |t: &&'a Trial| refused(t) < REFUSED && facts.refusals.rate.is_near(good(t));
    let waits = |t: &&'a Trial| t.latency_us.mean >= WIDE * r1_us;
    let trial = facts.sweep.iter().copied().filter(is_at_limit).rfind(waits)?;
    (!delays_for_sure(facts)).then_some((trial, r1_us))
}
