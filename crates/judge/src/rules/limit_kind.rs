//! Kind of the limit of a server that refuses requests: a limit on the rate, or a limit on requests in flight.

use run::{Evidence, FigureUnit};

use super::delaying_limit::delays_for_sure;
use super::per_period;
use super::queue_signs::held_places;
use super::waited::waited;
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::refused;
use crate::context::view::View;
use crate::failed::refusals::{Kept, Refusals};
use crate::in_flight::places;
use crate::number::{counted, figure, rate};
use crate::thresholds::REFUSED;

/// Returns the quantity that the server keeps constant while it refuses requests. A rate limit with a queue also keeps
/// the number of requests constant, but at a lower rate, it answers requests at once.
pub(super) fn kept(facts: &Facts<'_>) -> Option<Kept> {
    match facts.refusals.kept() {
        Some(Kept::Either) if delays_for_sure(facts) => Some(Kept::Rate),
        kept => kept,
    }
}

/// If refusals have two possible causes, returns a next step that shows which cause is right. Also returns advice if
/// the limit is on requests in flight. Returns `None` for a limit on the rate. Status 429 may also mean that a queue is
/// full, as in inference servers and search engines.
pub(super) fn advice(facts: &Facts<'_>) -> Option<String> {
    if let Some(limit) = &facts.period_limit {
        return Some(per_period::advice(limit));
    }
    let kept = kept(facts).filter(|_| facts.loaded().any(|trial| refused(trial) >= REFUSED))?;
    if waited(facts).is_some() {
        return Some(format!(
            "Add workers{}, or connections to an upstream, and measure again. If the rate grows, their number is the \
             limit. If the rate stays, look for a rate limit with a queue (limit_req with burst, an upstream quota).",
            number(facts)
        ));
    }
    let number = in_flight(facts);
    match kept {
        Kept::Rate => None,
        Kept::InFlight => Some(format!(
            "Raise the limit on requests in flight (now {number}): limit_conn, limit-concurrency, a semaphore, or a \
             pool of connections."
        )),
        Kept::Either => Some(format!(
            "Send requests that take about twice as long (another path, or a delay in the handler), and measure again. If \
             the rate of good answers stays near {}, it is a rate limit (limit_req, an upstream quota). If it falls to \
             half, it is a limit on requests in flight, now {number} (limit_conn, a semaphore, a pool of connections).",
            rate(facts.refusals.rate.middle)
        )),
    }
}

/// Returns evidence of the quantity that the server keeps constant: the rate of good answers, the good requests in
/// flight, or both.
pub(super) fn kept_line(facts: &Facts<'_>, view: &View<'_>) -> Option<Evidence> {
    let Refusals { refusing, in_flight, rate: rates, .. } = &facts.refusals;
    let in_flight = Some(in_flight.level).filter(|level| level.middle > 0.0)?;
    let middle = places::requests(in_flight.middle);
    let text = match kept(facts)? {
        Kept::Rate if refusing.len() < 2 || facts.refusals.in_flight.may_limit => return None,
        Kept::Rate => format!(
            "good requests in flight (rate × response time): {} to {}, which no limit on their number explains",
            figure(in_flight.lowest),
            figure(in_flight.highest)
        ),
        Kept::InFlight => format!(
            "good requests in flight (rate × response time): near {middle} in {}, while their rate went from {} to {}",
            counted(refusing.len() as f64, "trial"),
            rate(rates.lowest),
            rate(rates.highest)
        ),
        Kept::Either => format!(
            "good requests in flight (rate × response time): about {middle}, so a limit on their number looks the same as a \
             rate limit"
        ),
    };
    Some(measured(view, ("latency_us.mean", ""), (in_flight.middle, FigureUnit::Requests), None, text))
}

fn number(facts: &Facts<'_>) -> String {
    held_places(facts)
        .map_or(String::new(), |held| format!(" (they handle about {} at a time)", places::requests(held)))
}

/// Returns the number of good requests in flight as text, even if the number is unknown.
pub(super) fn in_flight(facts: &Facts<'_>) -> String {
    match facts.refusals.in_flight.level.middle {
        number if number > 0.0 => format!("about {}", places::requests(number)),
        _ => "a fixed number of requests".into(),
    }
}
