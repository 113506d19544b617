//! Signs of a queue on the network path between client and server: round trips grow far beyond their minimum, and the
//! sender's data waits. A server that delays answers on purpose sends nothing in the meantime, so round trips stay
//! short.

use run::{Evidence, FigureUnit, Trial};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{server_of, sides_of};
use crate::context::view::View;
use crate::number::{duration, figure, percent, positive, ratio};
use crate::thresholds::{
    BUSY, FRAMING, OWN_BYTES, QUEUED_BYTES, STALLS_SEEN, TRIP_GREW, TRIP_QUEUE_US, TRIP_QUEUED, TRIP_SHARE, WINDOW_WAIT,
};

/// Returns evidence of the queue, on the side with the longest round trips. Returns `None` if busy CPUs of a host could
/// cause the delay.
pub(crate) fn on_the_way(trial: &Trial) -> Option<Evidence> {
    longest(trial, |_| true).filter(|_| idle(trial))
}

/// Returns the evidence of [`on_the_way`] if the load may cause the queue. The signs are unsent data that waits, or
/// round trips that are far longer than at the lightest load. On a radio link, round trips vary much at every load, so
/// a mean far above the minimum shows no queue.
pub(crate) fn of_the_load(facts: &Facts<'_>, trial: &Trial) -> Option<Evidence> {
    let by_load = |view: &View<'_>| waits_unsent(view) || may_have_grown(facts, view);
    longest(trial, by_load).filter(|_| idle(trial))
}

/// Returns false if the round trips of a side are hardly longer than at the lightest load, even in the trial with the
/// most clients. Returns true if there is no lighter load to compare with.
fn may_have_grown(facts: &Facts<'_>, view: &View<'_>) -> bool {
    let Some(lightest) = facts.unloaded.or(facts.search.first().copied()) else { return true };
    let crowded = facts.crowded_server().map(|server| server.trial);
    let heavier = || crowded.into_iter().chain([view.trial]).filter(|trial| !std::ptr::eq(*trial, lightest));
    let rtt_us = |trial: &Trial| {
        let sides = sides_of(trial);
        sides.iter().find(|side| side.role == view.role)?.value("connection.rtt").and_then(positive)
    };
    let (Some(before), Some(most)) = (rtt_us(lightest), heavier().filter_map(rtt_us).reduce(f64::max)) else {
        return true;
    };
    most >= TRIP_GREW * before
}

/// Returns true if packets wait on the network path, but busy CPUs of a host could cause the delay.
pub(crate) fn is_hidden(trial: &Trial) -> bool {
    !idle(trial) && longest(trial, |_| true).is_some()
}

/// Returns evidence that packets of this load wait in a traffic shaper (qdisc) on an interface of the client's or the
/// server's host.
pub(crate) fn shaper(facts: &Facts<'_>, trial: &Trial) -> Option<Evidence> {
    let of = |view: &View<'_>| {
        let queues = view.instances("qdisc.backlog").into_iter().filter(|(_, bytes)| *bytes >= QUEUED_BYTES);
        queues.filter_map(|(name, backlog)| shaped(facts, view, &name, backlog)).next()
    };
    sides_of(trial).iter().find_map(of)
}

fn shaped(facts: &Facts<'_>, view: &View<'_>, name: &str, backlog: f64) -> Option<Evidence> {
    let read = |id| view.side.recording.reading(id, name, view.window).value();
    let over = read("qdisc.overlimits").filter(|over| *over >= 1.0)?;
    let sent = read("qdisc.bytes").and_then(|bytes| ratio(bytes, view.span_s?));
    let text =
        format!("{} B waited in the queue of {name}, which delayed packets {} times", figure(backlog), figure(over));
    is_ours(facts, view.trial, sent)
        .then(|| measured(view, ("qdisc.backlog", name), (backlog, FigureUnit::Bytes), None, text))
}

/// Returns true if the traffic of a link comes from this load. The load must send most of the link's bytes (`per_s`,
/// per second), or its own packets must queue. If neither the bytes nor the queue of the load is known, returns true if
/// the load is at a limit.
pub(crate) fn is_ours(facts: &Facts<'_>, trial: &Trial, per_s: Option<f64>) -> bool {
    let tally = &trial.measured.tally;
    let bytes = tally.bytes_sent.max(tally.bytes_received) as f64 + FRAMING * tally.completed as f64;
    let known = tally.bytes_sent + tally.bytes_received > 0;
    let own = ratio(bytes, trial.measured.length_s).filter(|_| known);
    let most = own.zip(per_s).map(|(own, all)| own >= OWN_BYTES * all);
    let queued = own_queue(trial);
    most == Some(true) || queued == Some(true) || most.is_none() && queued.is_none() && facts.limited()
}

/// Returns true if packets of this load queue on the path: the round trips of the load are far longer than the shortest
/// round trip. Returns `None` if the round trips are unknown.
fn own_queue(trial: &Trial) -> Option<bool> {
    let view = server_of(trial).unwrap_or_else(|| View::new("client", trial, &trial.client));
    let least = view.value("connection.min_rtt").and_then(positive)?;
    Some(view.value("connection.rtt")? >= TRIP_QUEUED * least)
}

/// Returns true if the hosts of both sides have idle CPUs.
pub(crate) fn idle(trial: &Trial) -> bool {
    sides_of(trial).iter().filter_map(View::host).all(|host| host.busy < BUSY * host.online)
}

/// Returns evidence of the queue on the side with the longest round trips, among the sides that `counts` selects.
fn longest(trial: &Trial, counts: impl Fn(&View<'_>) -> bool) -> Option<Evidence> {
    let queues = sides_of(trial).into_iter().filter(counts).filter_map(|view| queue(&view));
    queues.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)))
}

fn queue(view: &View<'_>) -> Option<Evidence> {
    let r = positive(view.trial.latency_us.mean)?;
    let (rtt, least) = (view.value("connection.rtt")?, positive(view.value("connection.min_rtt")?)?);
    let unsent = unsent_share(view).unwrap_or(0.0);
    // The server's kernel may acknowledge a request together with the answer, so round trips measured by the client may
    // include the server's work. The client's kernel acknowledges an answer soon, so round trips measured by the server
    // include no processing time.
    let of_client = std::ptr::eq(view.side, &view.trial.client);
    let most = (rtt >= TRIP_SHARE * r && !of_client) || waits_unsent(view);
    if rtt < TRIP_GREW * least || rtt - least < TRIP_QUEUE_US || !most || held_by_a_window(view) {
        return None;
    }
    let data = match waits_unsent(view) {
        true => format!(", and unsent data waited {} of the time of a request", percent(unsent)),
        false => String::new(),
    };
    let text = format!(
        "a round trip of the {}'s connections took {} (response time {}), the least {}{data}",
        view.role,
        duration(rtt),
        duration(r),
        duration(least)
    );
    Some(measured(view, ("connection.rtt", ""), (rtt, FigureUnit::Micros), Some(least), text))
}

/// Returns true if the side of `view` has data that TCP has not sent yet for most of the time of a request.
fn waits_unsent(view: &View<'_>) -> bool {
    unsent_share(view).is_some_and(|unsent| unsent >= WINDOW_WAIT)
}

/// Returns the share of a request's time, 0 to 1, in which the side of `view` had data that TCP had not sent yet.
pub(crate) fn unsent_share(view: &View<'_>) -> Option<f64> {
    let (waiting, sampled) = (view.value("connection.waiting")?, positive(view.value("connection.sampled")?)?);
    ratio(waiting, sampled.min(positive(view.trial.rates.concurrency)?)).map(|share| share.min(1.0))
}

/// Returns true if the receiver's TCP window or the send buffer stopped the sender. A full TCP window or send buffer
/// can stop the sender although the link is not full.
fn held_by_a_window(view: &View<'_>) -> bool {
    let stalled = |id| view.value(id).is_some_and(|share| share >= STALLS_SEEN);
    stalled("connection.rwnd_limited") || stalled("connection.sndbuf_limited")
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::{Trial, TrialKind};

    /// In this test, the server completes 200/s with one client that never pauses, because the link is full. Below
    /// 190/s, requests are answered quickly, because the link lets bursts pass.
    fn one_client_fills(rtt_us: f64) -> PlantedRun {
        let quick = |t: &mut Trial, p: &Point| {
            if t.kind == TrialKind::Search && p.offered < 190.0 {
                (t.latency_us.mean, t.latency_us.p50) = (600.0, 600.0);
            }
        };
        PlantedRun::new(5000.0, 200.0).change(quick).level(Who::Server, "connection.rtt", "", rtt_us).level(
            Who::Server,
            "connection.min_rtt",
            "",
            90.0,
        )
    }

    #[test]
    fn a_shaped_link_with_a_burst_is_no_limit_on_purpose() {
        let shaped = one_client_fills(4200.0).per_s(Who::Server, "connection.waiting", "", |p| p.n * 0.9);
        let b = shaped.verdict();
        assert!(b.id == "network-medium" && b.sentence.contains("on the path"), "{b:#?}");
        assert_eq!(one_client_fills(120.0).verdict().id, "server-rate-limit");
    }

    /// In this observed case, a real link of 10 Mbit/s lets bursts of 256 kB pass, while other programs use both CPUs.
    #[test]
    fn on_busy_cpus_a_shaped_link_is_no_limit_on_purpose_either() {
        let busy = |who: Who, planted: PlantedRun| planted.per_s(who, "cpu.user", "total", |_| 3.9e6);
        let shaped = busy(Who::Client, busy(Who::Server, one_client_fills(4200.0)));
        assert_ne!(shaped.verdict().id, "server-rate-limit");
    }

    /// This test repeats a situation that was observed on a real link of 10 Mbit/s. Each segment from the link woke the
    /// generator separately, on CPUs that other programs filled. The generator's threads waited for a CPU 85 % of the
    /// time, while the queue of the traffic shaper grew with the load.
    #[test]
    fn a_generator_that_waits_for_a_cpu_while_its_packets_queue_in_a_shaper_is_not_the_limit() {
        let waits = |backlog: f64| {
            one_client_fills(4200.0)
                .per_s(Who::Client, "cpu.user", "total", |_| 3.9e6)
                .per_s(Who::Client, "thread.cpu", "shard0:50/51", |_| 4_000.0)
                .per_s(Who::Client, "thread.run_delay", "shard0:50/51", |_| 850_000.0)
                .level(Who::Server, "qdisc.backlog", "eth0 tbf 1:", backlog)
                .per_s(Who::Server, "qdisc.overlimits", "eth0 tbf 1:", |p| p.x)
        };
        assert_eq!(waits(20_000.0).verdict().id, "network-medium");
        assert_eq!(waits(0.0).verdict().id, "client-cpu");
    }

    #[test]
    fn a_client_s_round_trip_that_includes_the_server_s_work_is_no_queue_on_the_way() {
        let level = |id, value| one_client_fills(120.0).level(Who::Client, id, "", value);
        let delayed = level("connection.rtt", 4200.0).level(Who::Client, "connection.min_rtt", "", 90.0);
        assert_eq!(delayed.verdict().id, "server-rate-limit");
    }

    #[test]
    fn a_sender_that_its_peers_window_holds_fills_no_link() {
        let held = one_client_fills(4200.0).level(Who::Server, "connection.rwnd_limited", "", 0.5);
        assert_ne!(held.verdict().id, "network-medium");
    }
}
