//! Sentences and advice of the rule for a fixed number of workers (`server-concurrency`).

use super::delaying_limit::delays_behind;
use crate::Facts;
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::failed::overflow::held_connections;
use crate::failed::refused_handshakes::refused_handshakes;
use crate::in_flight::places::{self, Places};
use crate::in_flight::process_locks::OneCpuEach;
use crate::in_flight::serial;
use crate::in_flight::server_queue;
use crate::in_flight::upstreams;
use crate::in_flight::upstreams::awaited::{Awaited, by_nearly_all};
use crate::number::{counted, duration, figure, percent, rate};
use crate::thresholds::{BUSY, HALF_BUSY};
use crate::waits;

/// Returns advice for four cases: connections are refused, connections are kept while others wait, connections are
/// accepted too slowly, or an upstream has far more connections than needed.
pub(super) fn advise(facts: &Facts<'_>) -> Option<String> {
    if let Some(refused) = refused_handshakes(facts) {
        return Some(format!(
            "Raise the number of connections that the server holds at a time (now {}), or let fewer clients share connections: \
             a pool in front of it keeps some open for all.",
            figure(refused.served)
        ));
    }
    if server_queue::may_wait_for_accept(facts, Places::of(facts).as_ref()) {
        return Some(
            "Keep the connections open (no --new-connections, and no `Connection: close` by the server). If more requests \
             complete then, accepting is the limit: a limit of connections per second, or handshakes in the accepting \
             thread. If not, raise the number of workers."
                .into(),
        );
    }
    if let Some(pool) = facts.waits.iter().find(|finding| waits::is_of_large_pool(finding)) {
        return Some(format!("Look at {} for a lock, a row or a worker that all requests share.", pool.peer));
    }
    let awaited = awaited(facts).filter(|_| upstreams::full(facts).is_none());
    if let Some(all) = awaited {
        let address = &all.behind.address;
        return Some(format!("Look at the upstream {address}: run `loadline waits` there, and compare its limits."));
    }
    let answered = figure(held_connections(facts)?.answered);
    Some(format!(
        "Raise the number of workers, or of connections that the server holds at a time (now {answered}). With a longer backlog, \
         more connections would wait for an answer that never comes."
    ))
}

/// Returns the upstream for whose replies nearly all requests wait, if any. A throughput that still grows with the load
/// shows that the upstream is not full yet.
fn awaited<'a>(facts: &Facts<'a>) -> Option<Awaited<'a>> {
    let awaited = by_nearly_all(facts).filter(|_| facts.plateau != Plateau::Grows);
    awaited.or_else(|| delays_behind(facts))
}

/// Returns a possible reason why connections wait to be accepted: the server accepts too few connections per second.
/// Returns `None` if a limit on accepted connections per second does not explain the run.
pub(super) fn accepts(facts: &Facts<'_>, places: Option<&Places>) -> Option<String> {
    let (rate, trial) = (facts.x_max()?, facts.crowded_server()?.trial);
    let each = if trial.measured.tally.handshakes > 0 { ", each with a handshake" } else { "" };
    server_queue::may_wait_for_accept(facts, places)
        .then(|| format!("it accepts no more than {} connections/s{each}", figure(rate)))
}

/// Returns the verdict in one sentence. The sentence names a full upstream, requests that run one at a time, the
/// connections in use, counted workers, or only a number of workers.
pub(super) fn sentence(facts: &Facts<'_>, view: &View<'_>, places: Option<&Places>) -> String {
    if let Some(refused) = refused_handshakes(facts) {
        return refused.text();
    }
    if let Some(sentence) = upstreams::sentence(facts) {
        return sentence + &upstreams::awaited::other_limit(facts, places).unwrap_or_default();
    }
    if serial::turns(facts, places).is_some() {
        return crate::in_flight::serial_words::SENTENCE.into();
    }
    if let Some(held) = held_connections(facts) {
        let (answered, waiting) = (counted(held.answered, "connection"), held.waiting);
        let [others, wait] = if waiting == 1.0 { ["other", "waits"] } else { ["others", "wait"] };
        let waiting = figure(waiting);
        return format!("the server holds no more than {answered}; {waiting} {others} {wait} to be accepted");
    }
    // A server that uses half a CPU or more does not sleep most of the time.
    let sleeps = view.cpu_used().is_some_and(|used| used < HALF_BUSY);
    let busy = facts.upstreams.iter().find(|load| load.busiest_thread.is_some_and(|busy| busy >= BUSY));
    let busy = busy.filter(|_| sleeps).map(|load| {
        let share = percent(load.busiest_thread.unwrap_or(0.0));
        format!("its threads wait and one thread of the upstream at {} ran {share} of the time", load.behind.address)
    });
    let waiting = awaited(facts).map(|all| all.words());
    let Some((places, r1)) = places.zip(crate::context::laws::service_us(facts)) else {
        if let Some(waiting) = waiting {
            return format!("{waiting}; the server stays at {}", rate(facts.x_max().unwrap_or(0.0)));
        }
        let does = if sleeps { "its threads sleep" } else { "its CPUs have time left" };
        let does = busy.as_deref().unwrap_or(does);
        let does_not_grow = if facts.plateau == Plateau::NoResult { "completes" } else { "stays at" };
        return format!("the server {does_not_grow} {} while {does}", rate(facts.x_max().unwrap_or(0.0)));
    };
    let number = places::requests(places.places);
    if let Some(waiting) = waiting {
        return format!(
            "{waiting}; the server and its upstreams handle only about {number} at a time, {} each",
            duration(r1)
        );
    }
    let others = if sleeps { "the others wait while its threads sleep" } else { "the others wait" };
    let others = busy.map_or(others.to_string(), |busy| format!("the others wait while {busy}"));
    let counted = places.matching().next().map_or(String::new(), |one| format!(" ({})", places::text(one)));
    let each = OneCpuEach::of(facts).map_or(String::new(), |each| each.words());
    format!("the server handles only about {number} at a time, {} each{counted}; {others}{each}", duration(r1))
}
