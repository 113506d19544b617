//! Evidence from throughput and from queues that some device is full.

use crate::Facts;
use crate::context::sweep::Plateau;
use crate::in_flight::waiting::Waiting;
use crate::thresholds::{CLOSE, ONE_LOAD, QUEUE_SAYS, QUEUE_SHARE, STILL_GROWS};

/// Returns the evidence that some device is full, as log odds. The log odds are 0 if throughput stopped growing. The
/// log odds are negative if throughput still grows, or if no sweep shows whether it grows.
pub(crate) fn plateau(facts: &Facts<'_>) -> f64 {
    match facts.plateau {
        Plateau::Flat { .. } => 0.0,
        Plateau::Grows if facts.failing.is_none() => -STILL_GROWS,
        Plateau::Grows | Plateau::NoResult => -ONE_LOAD,
    }
}

/// Returns the evidence that the server and not the generator is the limit, as log odds. Messages wait unread at the
/// slower side. If client and server share CPUs, unread messages are no evidence.
pub(crate) fn queue(facts: &Facts<'_>) -> f64 {
    let waiting = Waiting::of(facts).filter(|_| !facts.shared());
    waiting.map_or(0.0, |w| QUEUE_SAYS * ((w.server - w.client) / QUEUE_SHARE).clamp(-1.0, 1.0))
}

/// Returns the maximum probability that a thread or CPU counts as full if its use without the load is unknown.
/// Throughput that stopped growing shows a limit, and so does a missed objective. Without a plateau or a missed
/// objective, only messages that wait unread at the server show a limit. If client and server share CPUs, unread
/// messages show nothing.
pub(super) fn most_if_unseen(facts: &Facts<'_>) -> f64 {
    if facts.limited() {
        return 1.0;
    }
    let waiting = Waiting::of(facts).filter(|_| !facts.shared()).map_or(0.0, |waiting| waiting.server);
    CLOSE + (1.0 - CLOSE) * (waiting / QUEUE_SHARE).clamp(0.0, 1.0)
}
