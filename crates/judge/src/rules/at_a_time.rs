//! Limits on the number of requests at a time that look like limits on requests per second. A server with few workers
//! and a bounded queue refuses requests that arrive while the queue is full. The rate of good answers of such a server
//! is therefore as constant as with a rate limit.

use run::{Evidence, FigureUnit};

use super::limit_kind::{in_flight, kept};
use super::queue_signs::held_places;
use super::waited::waited;
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{clients, server_of};
use crate::context::view::View;
use crate::failed::refusals::Kept;
use crate::in_flight::places::{self, Places, is_connections};
use crate::number::duration;

/// Limit on the number of requests that the server handles at the same time. Such a limit may look like a limit on
/// requests per second.
pub(super) struct AtATime {
    /// The limit on requests at a time in words: `about 4 requests at a time`.
    pub(super) text: String,
    /// Evidence of a queue in front of the limit, if one was seen.
    pub(super) queue: Option<Evidence>,
}

impl From<String> for AtATime {
    fn from(text: String) -> Self {
        Self { text, queue: None }
    }
}

/// Describes a limit on requests at a time that looks like a limit on requests per second. Returns `None` if no sign of
/// a limit on requests at a time was found.
pub(super) fn at_a_time(facts: &Facts<'_>) -> Option<AtATime> {
    pool(facts).map(AtATime::from).or_else(|| queue(facts)).or_else(|| good_in_flight(facts).map(AtATime::from))
}

/// Describes the connections to an upstream if their number equals the number of requests handled at a time. A full
/// connection pool looks like a rate limit, because the server refuses requests that find no free connection.
fn pool(facts: &Facts<'_>) -> Option<String> {
    let places = Places::of(facts)?;
    let pool = places.matching().find(|counted| is_connections(counted))?;
    Some(format!("about {} at a time ({})", places::requests(places.places), places::text(pool)))
}

/// Describes the workers of a server whose requests waited in a queue before the first refusal.
fn queue(facts: &Facts<'_>) -> Option<AtATime> {
    let (trial, r1_us) = waited(facts)?;
    let places = Places::of(facts);
    let counted = places.as_ref().and_then(|places| places.matching().next());
    let counted = counted.map_or(String::new(), |counted| format!(" ({})", places::text(counted)));
    let text = match held_places(facts) {
        Some(held) => format!("about {} at a time{counted} and a full queue", places::requests(held)),
        None => "a full queue".into(),
    };
    let view = server_of(trial).unwrap_or_else(|| View::new("client", trial, &trial.client));
    let mean_us = trial.latency_us.mean;
    let said = format!(
        "with {} nothing was refused, and an answer took {} instead of {}: requests wait before any is refused",
        crate::number::counted(clients(trial), "client"),
        duration(mean_us),
        duration(r1_us)
    );
    let queue = measured(&view, ("latency_us.mean", ""), (mean_us, FigureUnit::Micros), Some(r1_us), said);
    Some(AtATime { text, queue: Some(queue) })
}

/// Describes the number of good requests in flight (Little's law), if it may be the limit.
fn good_in_flight(facts: &Facts<'_>) -> Option<String> {
    kept(facts).filter(|kept| *kept != Kept::Rate).map(|_| format!("{} at a time", in_flight(facts)))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::{Trial, TrialKind};

    /// Makes a run of a server that answers 200 requests per second, has space for 24 requests, and refuses all others
    /// with `status`. `r1_us` is the response time of one client.
    fn refuses_beyond_24(r1_us: f64, status: &'static str) -> PlantedRun {
        let refuse = move |t: &mut Trial, p: &Point| {
            let is_closed = t.kind == TrialKind::Sweep;
            let refused = if is_closed { (p.n - 24.0).max(0.0) * 125.0 } else { (p.offered - 200.0).max(0.0) };
            let held = if is_closed { p.n.min(24.0) } else { 18.0 };
            if refused > 0.0 {
                (t.rates.completed_rate, t.rates.goodput) = (200.0 + refused, 200.0);
                (t.measured.tally.completed, t.measured.tally.unexpected_status) =
                    (400 + (2.0 * refused) as u64, (2.0 * refused) as u64);
                t.measured.tally.unexpected_statuses = [(status.into(), (2.0 * refused) as u64)].into();
                t.latency_us.mean = held / 200.0 * 1e6;
            }
        };
        PlantedRun::new(r1_us, 200.0).steps(&[1, 2, 4, 8, 16, 32, 64]).rates(&[0.5, 0.9, 1.05]).change(refuse)
    }

    /// Passenger (six processes and a queue of 100), HAProxy (`maxconn`, `timeout queue`) and Envoy
    /// (`max_pending_requests`) answer 503 if their queue is full. About a server with four workers and a full queue,
    /// an earlier version of loadline said "limits the rate on purpose" with a confidence of 95 %.
    #[test]
    fn workers_with_a_bounded_queue_may_refuse_what_the_queue_cannot_hold() {
        for status in ["503", "429"] {
            let b = refuses_beyond_24(20_000.0, status).verdict();
            assert!(b.id == "server-rate-limit" && b.confidence <= 0.5, "{b:#?}");
            assert!(
                b.sentence.contains("about 4 requests at a time") && b.sentence.contains("and a full queue"),
                "{b:#?}"
            );
            assert!(b.evidence.iter().any(|e| e.text.contains("requests wait before any is refused")), "{b:#?}");
            assert!(
                b.advice.len() == 1 && b.advice[0].contains("Add workers (they handle about 4 requests at a time)"),
                "{:?}",
                b.advice
            );
        }
        let limit = refuses_beyond_24(5000.0, "429").change(quick_below_190).verdict();
        assert!(limit.id == "server-rate-limit" && limit.confidence >= 0.9, "{limit:#?}");
    }

    /// Makes the answers quick at an offered rate below 190/s.
    fn quick_below_190(t: &mut Trial, p: &Point) {
        if t.kind == TrialKind::Search && p.offered < 190.0 {
            (t.latency_us.mean, t.latency_us.p50) = (80.0, 80.0);
        }
    }

    /// nginx with `limit_req burst=23` delays up to 23 requests before it refuses any. At a lower rate, requests are
    /// answered at once, so the queue belongs to a rate limit.
    #[test]
    fn a_rate_limit_with_a_queue_of_its_own_stays_a_rate_limit() {
        let b = refuses_beyond_24(5000.0, "503").change(quick_below_190).verdict();
        assert!(b.id == "server-rate-limit" && b.confidence >= 0.9 && b.sentence.contains("on purpose"), "{b:#?}");
    }

    /// Answers are quick at a lower rate, as under a rate limit. Unread requests may also wait for a worker that goes
    /// on working after its answer.
    #[test]
    fn unread_requests_leave_the_queue_of_a_rate_limit_open() {
        let b = refuses_beyond_24(5000.0, "503")
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .change(quick_below_190)
            .verdict();
        assert!(b.id != "server-rate-limit" || b.confidence <= 0.5, "{b:#?}");
    }

    /// A server with one slot (`limit_conn 1`, or one inference at a time) refuses every request that arrives while the
    /// slot is in use. By Little's law, slightly less than one good answer is in progress.
    #[test]
    fn one_slot_without_a_queue_may_be_the_limit_instead_of_a_rate() {
        let one_slot = |t: &mut Trial, p: &Point| {
            let refused = if t.kind == TrialKind::Sweep { (p.n - 1.0) * 4000.0 } else { (p.offered - 49.0).max(0.0) };
            (t.rates.completed_rate, t.rates.goodput) = (49.0 + refused, 49.0);
            t.measured.tally.completed = 98 + (2.0 * refused) as u64;
            t.measured.tally.unexpected_status = (2.0 * refused) as u64;
            t.measured.tally.unexpected_statuses = [("503".into(), (2.0 * refused) as u64)].into();
            t.latency_us.mean = 19_900.0;
        };
        let b = PlantedRun::new(19_900.0, 50.0).steps(&[1, 2, 4, 8]).rates(&[1.5, 2.0]).change(one_slot).verdict();
        assert!(b.id == "server-rate-limit" && b.confidence <= 0.5, "{b:#?}");
        assert!(b.sentence.contains("at a time"), "{b:#?}");
    }
}
