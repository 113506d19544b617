//! Rule for a full link. Either the link carries its maximum rate, or all signs point to a queue between the hosts.
//!
//! The conditions (a) to (d) come from R. Blake, *Optimizing Windows NT* (1993). (a) One more client raises the rate by
//! less than 2 %, or twice as many clients raise the rate by less than 5 %. (b) Each further client lengthens the
//! response time by 1 / Xmax (Xmax: highest rate), within 10 %. (c) No host uses more than 80 % of its CPUs. (d) The
//! link carries nearly all of its rate, framing included (Blake names 90 %), or at least 66.7 % while retransmissions
//! or deferrals rise. If only the condition (d) is not met, the queue is outside every measured device.

use run::{Evidence, FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Verdict};
use crate::context::evidence::{line, measured};
use crate::context::laws::steps;
use crate::context::single::{server_of, sides_of};
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::network::{ack_timer, link_queue, link_speed, quic};
use crate::number::{duration, figure, grew, percent, positive, ratio};
use crate::signals::Signal;
use crate::signals::medium::{MediumUse, full_above, media_uses, medium_use, overflow};
use crate::thresholds::{
    ADDS_1_OVER_X, BUSY, FRAMES_COUNT, FULL_MIDDLE, FURTHER_SIGN, HINT, INDIRECT, ONE_SIGN, TRIP_GREW, TRIP_SHARE,
    WEAK_SIGN, WIRE_BUSY, WIRES_ALIKE,
};
use crate::{Facts, context::facts, in_flight::server_queue};

pub(super) const RULE: Rule = Rule {
    id: "network-medium",
    needs: &["interface.speed", "interface.tx_bytes", "medium.bytes", "qdisc.overlimits", "connection.rtt", "quic"],
    explains: &["network-loss", "tcp-window"],
    shared: &[
        (
            &[
                "interface.tx_bytes",
                "interface.rx_bytes",
                "interface.collisions",
                "medium.bytes",
                "medium.deferrals",
                "medium.drops",
                "tcp.retrans_segs",
                "qdisc.backlog",
                "qdisc.overlimits",
            ],
            "most bytes are those of the load, or its own packets queue",
        ),
        (&["cpu.idle"], "a queue outside of the hosts"),
    ],
    signals,
    judge,
    advice: &[
        "Send less per request (compression, smaller answers, fewer packets), or use a faster link. More CPUs will not help.",
    ],
    explain: "With a full link throughput no longer grows while every CPU idles, and each further client only adds 1 / Xmax to \
              the response time. loadline then compares the bytes on the wire (with 24 B of preamble, check sequence and \
              gap per packet) with the link's speed. A shaper on an interface of these hosts shows as the backlog of its \
              queueing discipline. A bottleneck further away shows as a round trip that grows with the load.",
    ..PLAIN
};

/// Returns the use of the fullest medium. A single client can fill its own switch port and the server's port equally.
/// Of about equally full media, returns the medium that is fullest in the last trial, which has the most load. All
/// clients share the server's port, so more clients fill only this port.
fn fullest(facts: &Facts<'_>, trial: &Trial) -> Option<MediumUse> {
    let full = medium_use(trial)?.share;
    let later = facts.run.trials.last().map(media_uses).unwrap_or_default();
    let later = |m: &MediumUse| later.iter().find(|l| l.evidence.place == m.evidence.place).map_or(0.0, |l| l.share);
    let alike = media_uses(trial).into_iter().filter(|m| m.share >= full - WIRES_ALIKE);
    alike.max_by(|a, b| later(a).total_cmp(&later(b)).then(a.share.total_cmp(&b.share)))
}

/// Returns the trials that may show a full link: the decisive trial, then the other trials near the highest rate. With
/// the few clients of the decisive trial, a link may be full although its queue is still short. Only a queue shows that
/// a link between the hosts is full.
fn trials_at_the_limit<'a>(facts: &Facts<'a>) -> Vec<&'a Trial> {
    let is_other = |trial: &&Trial| facts.decisive.is_none_or(|decisive| !std::ptr::eq(*trial, decisive));
    facts.decisive.into_iter().chain(facts.fast_trials().into_iter().filter(is_other)).collect()
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let of = |trial| Some((trial, fullest(facts, trial)?));
    let all = trials_at_the_limit(facts).into_iter().filter_map(of);
    let medium = all.reduce(|a: (&Trial, MediumUse), b| if b.1.share > a.1.share { b } else { a });
    let signal = |(trial, medium): (&Trial, MediumUse)| {
        let rises = rising(trial).is_some() && medium.share < FULL_MIDDLE;
        full_above(if rises { WIRE_BUSY } else { FULL_MIDDLE }, medium.share)
    };
    medium.into_iter().map(signal).collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if crate::context::facts::unix_socket(facts.run) {
        return Verdict::RuledOut("a unix socket has no network".into());
    }
    let Some(trial) = facts.decisive else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    let (laws, held) = conditions(facts);
    let trials = trials_at_the_limit(facts);
    let medium = fullest(facts, trial);
    let found = surest(trials.iter().filter_map(|trial| full_medium(facts, trial, held)));
    if let Some((confidence, sentence, first)) = found {
        let evidence = [first, laws, quic::waiting_line(trial)].concat();
        return Verdict::Binds { confidence, sentence, evidence };
    }
    if let Some((confidence, sentence, first)) = outside(facts, &trials) {
        let lines = first.into_iter().chain(medium.map(|m| m.evidence)).chain(laws);
        let evidence = lines.chain(quic::waiting_line(trial)).collect();
        return Verdict::Binds { confidence, sentence, evidence };
    }
    let nominal = || sides_of(trial).iter().find_map(|view| link_speed::nominal(view.side));
    match medium {
        Some(m) if !is_ours(facts, trial, &m) => Verdict::RuledOut(format!(
            "{}: other programs' traffic, and no packets of this load queued",
            m.evidence.text
        )),
        Some(m) => Verdict::RuledOut(m.evidence.text),
        None if facts::loopback(facts.run) => Verdict::RuledOut("loopback has no link speed".into()),
        None => match quic::wait_nowhere(&trials).or_else(nominal) {
            Some(why) => Verdict::RuledOut(why),
            None => Verdict::CannotSay(vec!["interface.speed or medium.rate of the link".into()]),
        },
    }
}

/// Signs of a full link: the confidence, the sentence, and the evidence.
type FullLink = (f64, String, Vec<Evidence>);

/// Returns the full link with the highest confidence; of equal ones, the first.
fn surest(found: impl Iterator<Item = FullLink>) -> Option<FullLink> {
    found.reduce(|a, b| if b.0 > a.0 { b } else { a })
}

/// Returns true if the trial's load sends most of the bytes on the medium.
fn is_ours(facts: &Facts<'_>, trial: &Trial, medium: &MediumUse) -> bool {
    link_queue::is_ours(facts, trial, Some(medium.per_s))
}

/// Returns the signs in a trial that a medium with a known rate is full. `held` is the number of conditions from
/// [`conditions`] that are met.
fn full_medium(facts: &Facts<'_>, trial: &Trial, held: usize) -> Option<FullLink> {
    let medium = fullest(facts, trial).filter(|medium| is_ours(facts, trial, medium))?;
    // A queue that overflows shows a full link, even if the link's mean use in the window is lower.
    let overflow = overflow(trial);
    let full = if overflow.is_some() { 1.0 } else { full_above(FULL_MIDDLE, medium.share).chance() };
    let rising = overflow.or_else(|| rising(trial));
    let rises = rising.is_some() && facts.limited();
    let busy = if rises { full_above(WIRE_BUSY, medium.share).chance() } else { 0.0 };
    let further = FURTHER_SIGN * held as f64;
    let confidence = f64::max(full * (ONE_SIGN + further), busy * (INDIRECT + further));
    let sentence = format!("the link is full: {} of its bandwidth used", percent(medium.share));
    let evidence = std::iter::once(medium.evidence).chain(rising).collect();
    (confidence >= HINT).then_some((confidence, sentence, evidence))
}

/// Returns evidence of the conditions (a) to (c) of the module documentation, and the number of conditions that are
/// met.
fn conditions(facts: &Facts<'_>) -> (Vec<Evidence>, usize) {
    let (Some(client), Some(x_max)) = (facts.client(), facts.x_max()) else { return (Vec::new(), 0) };
    let mut lines = Vec::new();
    if let Plateau::Flat { from, to, growth } = facts.plateau {
        let text = format!("from {} to {} clients throughput {}", figure(from), figure(to), grew(growth));
        lines.push(line(&client, "completed_rate", "", text));
    }
    let each_us = 1e6 / x_max;
    let last = steps(facts).into_iter().rev().find_map(|s| s.dr_us);
    if let Some(dr) = last.filter(|dr| (dr / each_us - 1.0).abs() <= ADDS_1_OVER_X) {
        let text =
            format!("each further client adds {} to the response time; 1/Xmax is {}", duration(dr), duration(each_us));
        lines.push(measured(&client, ("latency_us.mean", ""), (dr, FigureUnit::Micros), Some(each_us), text));
    }
    let hosts: Vec<f64> = facts
        .decisive
        .map(|t| sides_of(t).iter().filter_map(|v| v.host()).filter_map(|h| ratio(h.busy, h.online)).collect())
        .unwrap_or_default();
    if let Some(most) = hosts.into_iter().reduce(f64::max).filter(|m| *m < BUSY) {
        let text = format!("the busiest host used {} of its CPU", percent(most));
        lines.push(measured(&client, ("cpu.idle", "total"), (most, FigureUnit::Plain), Some(BUSY), text));
    }
    let held = lines.len();
    (lines, held)
}

/// Returns evidence of a counter that rises when a link is too busy. Over QUIC, the segments of TCP belong to other
/// connections.
fn rising(trial: &Trial) -> Option<Evidence> {
    let of_tcp = Some(("tcp.retrans_segs", FRAMES_COUNT)).filter(|_| trial.quic.is_none());
    let of_media = [("interface.collisions", 1.0), ("medium.deferrals", 1.0), ("medium.drops", 1.0)];
    let grew = |v: &View<'_>, (id, least)| {
        let n = v.value(id).filter(|n| *n >= least)?;
        Some(measured(v, (id, ""), (n, FigureUnit::Plain), Some(0.0), format!("{id} grew by {}", figure(n))))
    };
    let of_side = |v: View<'_>| of_media.into_iter().chain(of_tcp).find_map(|counter| grew(&v, counter));
    sides_of(trial).into_iter().find_map(of_side).or_else(|| quic::losses_line(trial))
}

/// Returns the signs of a full link whose rate is unknown. The first sign is a queue of packets in a traffic shaper on
/// an interface of the client's or the server's host. The second sign is a round-trip time that grows with the load
/// while the hosts have idle CPUs. If most waiting requests wait at the server, no link is the limit. `trials` are the
/// trials at the limit.
fn outside(facts: &Facts<'_>, trials: &[&Trial]) -> Option<FullLink> {
    if !facts.limited() || server_queue::past_the_network(facts).is_some() {
        return None;
    }
    if let Some(queue) = trials.iter().find_map(|trial| link_queue::shaper(facts, trial)) {
        let sentence = format!("the link is full: packets wait in the queue of {}", queue.place);
        return Some((ONE_SIGN, sentence, vec![queue]));
    }
    // On loopback, a long round trip means that a thread waits for a CPU, not that a link is full.
    if facts::loopback(facts.run) {
        return None;
    }
    // With Nagle's algorithm and delayed acknowledgements, data waits inside the sender, not on the network path.
    if ack_timer::fills_light_load(facts) {
        return None;
    }
    let sentence = "a link on the path is full: packets wait between client and server";
    let queue = |trial: &&Trial| Some((WEAK_SIGN, sentence.to_string(), vec![link_queue::of_the_load(facts, trial)?]));
    surest(trials.iter().filter_map(|trial| queue(trial).or_else(|| grown_round_trip(facts, trial))))
}

fn grown_round_trip(facts: &Facts<'_>, trial: &Trial) -> Option<FullLink> {
    let view = server_of(trial)?;
    let before = facts.unloaded.and_then(server_of)?.value("connection.rtt").and_then(positive)?;
    let rtt = view.value("connection.rtt")?;
    let r = positive(trial.latency_us.mean)?;
    if !link_queue::idle(trial) || rtt < TRIP_SHARE * r || rtt < TRIP_GREW * before {
        return None;
    }
    let text =
        format!("the round trip grew from {} to {} (response time {})", duration(before), duration(rtt), duration(r));
    let evidence = measured(&view, ("connection.rtt", ""), (rtt, FigureUnit::Micros), Some(before), text);
    Some((INDIRECT, "a link on the path is full: the queue is in the network".into(), vec![evidence]))
}

#[cfg(test)]
mod tests;
