//! Evidence for a queue inside the server. The evidence is the queue itself, growing response times, or a count that
//! equals the number of requests handled at a time. Such a count is, for example, the number of threads. Evidence about
//! disks and shared CPUs is also made here.

use run::{Evidence, FigureUnit, SummaryFigure};

use super::rule::{Verdict, cannot_say};
use crate::Facts;
use crate::context::disks;
use crate::context::evidence::{line, measured};
use crate::context::facts::loopback;
use crate::context::laws::Step;
use crate::context::single::clients;
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::failed::overflow::held_connections;
use crate::failed::refused_handshakes::refused_handshakes;
use crate::in_flight::chain::Chain;
use crate::in_flight::places::{self, Places};
use crate::in_flight::serial;
use crate::in_flight::server_queue;
use crate::in_flight::upstreams;
use crate::network::{ack_timer, quic};
use crate::number::{counted, duration, figure, percent, positive, rate, ratio};
use crate::thresholds::{ADDED_WAIT, DISK_STALLED, DISK_WORKS, SURE, TRIP_SHARE, TWO_SIGNS, WEAK_SIGN};
use crate::waits;

/// Returns the signs of a queue inside the server, each with its confidence. The first sign is the queue itself, if it
/// was seen directly. Another sign is a count that equals the number of requests handled at a time. Four further signs:
/// requests run one at a time, requests wait for a full upstream, threads wait for one thing, or threads that hold
/// requests wait for another program. The last signs are that connections wait to be accepted, or are refused in the
/// server's own words, while the server serves other connections.
pub(super) fn signs(facts: &Facts<'_>, view: &View<'_>, places: Option<&Places>) -> Vec<(Evidence, f64)> {
    let queue = server_queue::queue(facts, places).map(|queue| match queue.may_wait_for_accept(places) {
        true => (queue.evidence, WEAK_SIGN),
        false => (queue.evidence, SURE),
    });
    let counted = places.and_then(|places| Some((places, places.matching().next()?))).map(|(all, one)| {
        let text = format!("about {} at a time: {}", counted(all.places, "request"), places::text(one));
        // A count that equals the number of requests at a time is a weak sign, because small counts may be equal by
        // chance. Samples that show further requests waiting in the process are a second sign of a queue.
        let sign = if places::is_seen_before_a_queue(one) { TWO_SIGNS } else { WEAK_SIGN };
        (measured(view, ("places", ""), (all.places, FigureUnit::Requests), Some(one.count), text), sign)
    });
    let turns = serial::turns(facts, places).map(|turns| (turns, TWO_SIGNS));
    let full = upstreams::full(facts).filter(|_| upstreams::awaited::waits_behind(facts));
    let full = full.and_then(|load| Some((upstreams::line(view, load), SURE.min(upstreams::awaited::chance(facts)?))));
    let inside = waits::queue_inside(&facts.waits).map(|finding| (waits::evidence(finding), TWO_SIGNS));
    // If threads with requests wait for another program, the limit is in that program, and the samples show no queue in
    // the server.
    let elsewhere = waits::held_elsewhere(&facts.waits).filter(|_| inside.is_none());
    let elsewhere = elsewhere.map(|finding| (waits::evidence(finding), WEAK_SIGN));
    // Something other than the number of workers may limit the number of connections. If requests wait unread on
    // connections that the server does not accept, these connections are not counted twice.
    let held = held_connections(facts).filter(|_| queue.is_none()).map(|held| (held.line(), WEAK_SIGN));
    let refused = refused_handshakes(facts).map(|refused| (refused.line(), SURE));
    [queue, counted, turns, full, inside, elsewhere, held, refused].into_iter().flatten().collect()
}

/// Returns evidence that the response time does not come from the network path to the server.
pub(super) fn not_the_way(facts: &Facts<'_>, view: &View<'_>) -> Result<Evidence, Verdict> {
    if loopback(facts.run) {
        let text = "on loopback there is no network in which requests could queue".to_string();
        return Ok(line(view, "", "", text));
    }
    let unknown = || {
        cannot_say("connection.rtt of the server's connections: it tells a queue in the server from one in the network")
    };
    let r = positive(view.trial.latency_us.mean).ok_or_else(unknown)?;
    let of_quic = quic::rtt_us(view.trial).filter(|_| quic::is_used(facts.run));
    let rtt = of_quic.or_else(|| view.value("connection.rtt")).ok_or_else(unknown)?;
    let text = format!("the round trip takes {} of a response time of {}", duration(rtt), duration(r));
    if rtt >= TRIP_SHARE * r && of_quic.is_some() {
        return Err(cannot_say(format!("whether packets wait in the network or in the server's socket ({text})")));
    }
    if rtt >= TRIP_SHARE * r {
        return Err(Verdict::RuledOut(format!("{text}: most of the time may pass in the network, not in the server")));
    }
    let text = format!("{text}: the rest is spent in the server");
    let figure = if of_quic.is_some() { "quic.rtt_us" } else { "connection.rtt" };
    Ok(measured(view, (figure, ""), (rtt, FigureUnit::Micros), Some(r), text))
}

/// Returns the end of the sentence about workers, which names another cause with the same signs. `is_unseen` is true if
/// no queue was seen, and `is_delayed` is true if answers are quicker at a lower rate.
pub(super) fn looks_the_same(is_unseen: bool, is_delayed: bool) -> &'static str {
    match (is_unseen, is_delayed) {
        (true, _) => ", but no queue was seen there: a limit that delays answers looks the same",
        (false, true) => {
            ", but at a lower rate answers come sooner: a limit that stops reading looks the same as a worker that \
             goes on after its answer"
        }
        (false, false) => "",
    }
}

/// Returns evidence of a queue: each further client at the plateau lengthens the response time by 1 / Xmax (Xmax:
/// highest rate).
pub(super) fn waits_longer(facts: &Facts<'_>) -> Option<Evidence> {
    let (Plateau::Flat { from, .. }, Some(client)) = (facts.plateau, facts.client()) else { return None };
    let steps = crate::context::laws::steps(facts);
    // If only the open loop showed the plateau, the plateau begins at the last step of the sweep. No later step can be
    // compared, so the evidence is the number of requests that the open loop offered and completed.
    let first = steps.iter().find(|s| s.n >= from)?;
    let last = steps.last().filter(|last| last.n > first.n).or_else(|| steps.iter().find(|s| s.n <= first.n))?;
    let each_us = positive(facts.x_max()?).map(|x| 1e6 / x)?;
    if last.n <= first.n {
        return Some(line(&client, "completed_rate", "", "more requests were offered and no more completed".into()));
    }
    let grew = ratio(longer_us(facts, last) - longer_us(facts, first), last.n - first.n)?;
    let text =
        format!("each further client adds {} to the response time; 1/Xmax is {}", duration(grew), duration(each_us));
    ((grew / each_us - 1.0).abs() <= ADDED_WAIT)
        .then(|| measured(&client, ("latency_us.mean", ""), (grew, FigureUnit::Micros), Some(each_us), text))
}

/// Returns the mean response time of a step, microseconds. If long waits without an answer make the mean unknown,
/// returns the mean by Little's law: clients divided by answers per second.
fn longer_us(facts: &Facts<'_>, step: &Step) -> f64 {
    let trial = facts.sweep.iter().find(|trial| clients(trial) == step.n);
    let is_known = trial.is_none_or(|trial| trial.latency_us.exact(SummaryFigure::Mean).is_some());
    let by_little = || ratio(step.n * 1e6, step.x).map_or(step.r_us, |us| us.max(step.r_us));
    if is_known { step.r_us } else { by_little() }
}

/// Returns Xmax × R1 (highest rate times response time with one client) as a line of evidence.
pub(super) fn held_line(facts: &Facts<'_>, view: &View<'_>) -> Option<Evidence> {
    let (service_us, x) = (crate::context::laws::service_us(facts)?, facts.highest_rate()?);
    let places = held_places(facts)?;
    let text = format!(
        "{} per request with one client × {} at most = {} at a time",
        duration(service_us),
        rate(x),
        counted(places, "request")
    );
    Some(measured(view, ("latency_us.mean", ""), (places, FigureUnit::Requests), None, text))
}

/// Returns evidence that threads of the server wait for a disk that is not full. A disk that is not full would be used
/// better by more threads.
pub(super) fn waits_for_a_disk(view: &View<'_>) -> Option<Evidence> {
    let waits = disks::waits(view, &view.side.instance_filter()).filter(|waits| waits.share >= DISK_STALLED)?;
    let own = ["process.read_bytes", "process.write_bytes"].iter().filter_map(|id| view.per_request(id)).sum::<f64>();
    let text = format!(
        "a request moves {} B to or from a disk, and some thread of the {} waited for it {} of the time: more threads \
         would use the disk better",
        figure(own),
        waits.whose,
        percent(waits.share)
    );
    // The I/O pressure covers the whole host, and also counts threads that sleep in io_uring. The I/O pressure is
    // therefore evidence only if a disk is at work.
    let works = disks::fullest(view, view.span_s? * 1e6)?;
    (own >= 1.0 && works.out + works.flushing >= DISK_WORKS)
        .then(|| measured(view, (waits.counter, ""), (waits.share, FigureUnit::Plain), Some(DISK_STALLED), text))
}

/// Returns a line of evidence with the CPU use of all programs if the nearest full upstream is limited by its CPUs.
pub(super) fn filled_cpus(facts: &Facts<'_>, view: &View<'_>) -> Option<Evidence> {
    let chain = upstreams::fills_cpus(facts).then(|| Chain::of(view)).flatten()?;
    let text = format!("the CPUs were busy {} of the time: {}", percent(chain.share()), chain.text());
    Some(line(view, "cpu.idle", "", text))
}

/// Returns evidence that the last part of each answer waits for a delayed acknowledgement under a light load.
pub(super) fn acknowledgement_line(facts: &Facts<'_>) -> Option<Evidence> {
    let light = facts.unloaded?;
    let (wait_us, (view, acks)) = (ack_timer::transfer_wait_us(light)?, ack_timer::delayed_acks_of_answers(light)?);
    let text = format!(
        "under a light load, the last part of each answer waits {} for a delayed acknowledgement",
        duration(wait_us)
    );
    Some(measured(&view, ("tcp.delayed_acks", ""), (acks, FigureUnit::Plain), None, text))
}

/// Returns Xmax × R1, the number of requests handled at a time, if Xmax and R1 are known and R1 is the service time.
pub(super) fn held_places(facts: &Facts<'_>) -> Option<f64> {
    Some(facts.highest_rate()? * crate::context::laws::service_us(facts)? / 1e6)
}
