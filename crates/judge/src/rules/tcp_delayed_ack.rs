//! Rule for Nagle's algorithm that waits for a delayed acknowledgement. With Nagle's algorithm, a response that the
//! server writes in two parts takes as long as the receiver's acknowledgement timer (40 ms on Linux). Client and server
//! are idle while they wait for the acknowledgement timer.

use run::{FigureUnit, Intensity, ThreadState, Trial};

use super::rule::{PLAIN, Rule, Verdict};
use crate::Facts;
use crate::context::evidence::{cpu_share_line, line, measured};
use crate::context::single::{clients, server_of};
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::in_flight::server_queue;
use crate::network::ack_timer::{TIMER_US, delayed_acks_of_answers, distance_us, transfer_wait_us};
use crate::network::{link_queue, quic};
use crate::number::{counted, duration, figure, percent, positive, ratio};
use crate::signals::Signal;
use crate::thresholds::{
    ACK_TIMER_LOW_US, ACK_TIMER_US, ACKS_BY_TIMER, GUESS, SEGMENTS_OF_ONE, SEGMENTS_OF_TWO, SURE, TIMER_HIDDEN,
    TRIP_GREW, WEAK_SIGN, WINDOW_WAIT,
};

pub(super) const RULE: Rule = Rule {
    id: "tcp-delayed-ack",
    needs: &["latency_us", "tcp.delayed_acks"],
    shared: &[
        (&["tcp.delayed_acks"], "answers took 40 ms at every load, and the server's send queues held bytes"),
        (&["tcp.orig_data_sent"], "it only rules out"),
    ],
    signals,
    judge,
    advice: &[
        "Set TCP_NODELAY on the server's connections, or write header and body in one call (writev, MSG_MORE, TCP_CORK).",
    ],
    explain: "With Nagle's algorithm a second small segment waits until the first is acknowledged. The other end delays that \
              ACK by 40 ms, hoping to send data with it. A response whose header and body are written separately then \
              takes 40 ms on any machine. Four signs show it: one client sees 38 to 52 ms, about one ACK by timer per \
              request, idle CPUs, and unacknowledged bytes in the server's send queue. A server that merely sleeps 40 ms \
              has an empty send queue and sends one data segment per response. The timer delays each answer and limits no \
              rate: more clients bring more. Where throughput stopped growing, or the wait goes away under load, something \
              else is the limit.",
    ..PLAIN
};

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let acks = facts.unloaded.or(facts.decisive).and_then(|one| Some((delayed_acks_of_answers(one)?.1, one)));
    let signal = |(each, one): (f64, &Trial)| {
        let events = each * one.measured.tally.completed as f64;
        Signal::counted("ACKs per request that the delayed-ACK timer sent", (each, events), ACKS_BY_TIMER)
    };
    acks.map(signal).into_iter().collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if crate::context::facts::unix_socket(facts.run) {
        return Verdict::RuledOut("a unix socket has no network".into());
    }
    if quic::is_used(facts.run) {
        return Verdict::RuledOut("HTTP/3 runs over QUIC, and no timer of TCP delays its acknowledgements".into());
    }
    let (Some(one), Some(decisive)) = (facts.unloaded.or(facts.decisive), facts.decisive) else {
        return Verdict::CannotSay(vec!["a trial with one client".into()]);
    };
    if one.latency_us.count == 0 || decisive.latency_us.count == 0 {
        return Verdict::CannotSay(vec!["response times with one client and at the limit".into()]);
    }
    let floor = one.latency_us.p50;
    if !TIMER_US.contains(&floor) {
        return Verdict::RuledOut(transfer_wait_us(one).map_or_else(
            || format!("the median response took {} with the least load, not about 40 ms", duration(floor)),
            |wait_us| {
                let wait = duration(wait_us);
                format!(
                    "the last part of each answer waits {wait} for a delayed acknowledgement, but this limits no rate"
                )
            },
        ));
    }
    if let Some(trip_us) = distance_us(one) {
        return Verdict::RuledOut(format!(
            "the median response took {} with the least load, and a round trip to the server takes {} of it",
            duration(floor),
            duration(trip_us)
        ));
    }
    let Some((view, acks)) = delayed_acks_of_answers(one) else {
        return Verdict::CannotSay(vec!["tcp.delayed_acks of the client's side".into()]);
    };
    if acks < ACKS_BY_TIMER {
        return Verdict::RuledOut(format!("{} delayed ACKs of answers per request", figure(acks)));
    }
    if let Some(why) = waits_for_others(facts, one) {
        return Verdict::RuledOut(why);
    }
    if let Plateau::Flat { from, .. } = facts.plateau {
        return Verdict::RuledOut(format!(
            "with the least load answers wait {} for delayed ACKs, but the timer limits no rate, and throughput stopped growing at {}",
            duration(floor),
            counted(from, "client")
        ));
    }
    if decisive.latency_us.p50 < ACK_TIMER_LOW_US {
        return Verdict::RuledOut(format!(
            "with the least load answers wait {} for delayed ACKs, but under load their median is {}",
            duration(floor),
            duration(decisive.latency_us.p50)
        ));
    }
    if decisive.latency_us.p50 > TIMER_HIDDEN * floor {
        return Verdict::RuledOut(format!(
            "the timer costs about 40 ms per request, but at the limit the median response took {}",
            duration(decisive.latency_us.p50)
        ));
    }
    match proof(one) {
        Proof::Against(why) => Verdict::RuledOut(why),
        proof => with_doubt(bind(one, &view, acks, floor, proof), sleepers(facts)),
    }
}

/// Returns the reason why answers wait for other requests, and not for the timer. Returns `None` unless the lightest
/// load has several clients, and requests queue at the server near the highest rate. The kernel acknowledges a request
/// that waits unread for 40 ms by the timer, so a queue also causes delayed acknowledgements.
fn waits_for_others(facts: &Facts<'_>, one: &Trial) -> Option<String> {
    let queue = server_queue::seen(facts, None).filter(|_| clients(one) > 1.0)?;
    Some(format!("requests wait for other requests: {}", queue.text))
}

/// Returns evidence that at least as many threads of the server sleep as requests are in flight. Sleeping threads may
/// write their answers slowly, so the wait may not come from Nagle's algorithm and the timer.
fn sleepers(facts: &Facts<'_>) -> Option<run::Evidence> {
    let in_flight = facts.decisive?.rates.concurrency;
    let profile = facts.run.sampled_waits()?;
    let asleep: f64 = profile.groups.iter().filter(|g| g.state == ThreadState::Sleep).map(|group| group.threads).sum();
    let view = server_of(facts.decisive?)?;
    let text = format!(
        "{} of the server {}, with {} in flight",
        counted(asleep, "thread"),
        if asleep == 1.0 { "sleeps" } else { "sleep" },
        counted(in_flight, "request")
    );
    (in_flight > 0.0 && asleep >= in_flight).then(|| line(&view, "waits", "", text))
}

/// If `doubt` contains evidence against a verdict, lowers the confidence of the verdict to at most [`GUESS`].
fn with_doubt(verdict: Verdict, doubt: Option<run::Evidence>) -> Verdict {
    match (verdict, doubt) {
        (Verdict::Binds { confidence, sentence, mut evidence }, Some(doubt)) => {
            evidence.push(doubt);
            Verdict::Binds { confidence: confidence.min(GUESS), sentence, evidence }
        }
        (verdict, _) => verdict,
    }
}

enum Proof {
    For(run::Evidence),
    Against(String),
    None,
}

/// Returns the evidence that bytes waited in the server for an acknowledgement, or did not. If the server's send queues
/// are unknown, few data segments per response show that no bytes waited.
fn proof(one: &Trial) -> Proof {
    let Some(server) = server_of(one) else { return Proof::None };
    if let Some(bytes) = server.value("connection.send_queue") {
        if bytes < 1.0 {
            return Proof::Against(
                "the server's send queues were empty while clients waited: it had nothing to send yet".into(),
            );
        }
        if let Some(why) = is_on_its_way(&server, bytes).or_else(|| was_sent(&server)) {
            return Proof::Against(why);
        }
        let text = format!("{} bytes of an answer waited in the server's send queue, on average", figure(bytes));
        return Proof::For(measured(&server, ("connection.send_queue", ""), (bytes, FigureUnit::Bytes), None, text));
    }
    let least = if one.client.host == server.side.host { SEGMENTS_OF_TWO } else { SEGMENTS_OF_ONE };
    match server.per_request("tcp.orig_data_sent") {
        Some(n) if n < least => {
            Proof::Against(format!("{} data segments per request: each answer is one segment", figure(n)))
        }
        // A count of at least `least` segments per response proves nothing, because the counter includes segments of
        // other programs.
        _ => Proof::None,
    }
}

/// Returns the reason if the bytes in the server's send queues belong to answers on their way. By Little's law, the
/// mean time of a byte in the send queues is the number of queued bytes, divided by the bytes sent per second. An
/// answer on its way stays in a send queue for one round trip; an answer that waits for the timer stays there much
/// longer.
fn is_on_its_way(server: &View<'_>, bytes_each: f64) -> Option<String> {
    let Intensity::Closed { connections, .. } = server.trial.intensity else { return None };
    let measured = &server.trial.measured;
    let per_s = positive(ratio(measured.tally.bytes_received as f64, measured.length_s)?)?;
    let unacknowledged_us = bytes_each * f64::from(connections) / per_s * 1e6;
    let least_us = server.value("connection.min_rtt").and_then(positive)?;
    (unacknowledged_us < TRIP_GREW * least_us).then(|| {
        format!(
            "a byte of an answer stayed in the server's send queue for {}, and a round trip takes at least {}: the answers \
             were on their way",
            duration(unacknowledged_us),
            duration(least_us)
        )
    })
}

/// Returns the reason if Nagle's algorithm held nothing back: all bytes in the send queue had been sent, and only their
/// acknowledgement was late. For example, a server that sends the header at once, but the body only after 45 ms of
/// work, does not wait for an acknowledgement.
fn was_sent(server: &View<'_>) -> Option<String> {
    let unsent = link_queue::unsent_share(server).filter(|share| *share < WINDOW_WAIT)?;
    Some(format!(
        "TCP held data back for only {} of a request's time: the server had sent the bytes in its send queue, so it waited \
         for no acknowledgement",
        percent(unsent)
    ))
}

fn bind(one: &Trial, view: &View<'_>, acks: f64, floor: f64, proof: Proof) -> Verdict {
    let client = View::new("client", one, &one.client);
    let mut evidence = vec![
        measured(
            &client,
            ("latency_us.p50", ""),
            (floor, FigureUnit::Micros),
            Some(ACK_TIMER_US),
            format!("the median response took {} with the least load", duration(floor)),
        ),
        measured(
            view,
            ("tcp.delayed_acks", ""),
            (acks, FigureUnit::PerRequest),
            Some(1.0),
            format!("{} ACKs per request were sent by the delayed-ACK timer", figure(acks)),
        ),
    ];
    evidence.extend(server_of(one).as_ref().and_then(cpu_share_line));
    let confidence = if let Proof::For(e) = proof {
        evidence.push(e);
        SURE
    } else {
        WEAK_SIGN
    };
    let sentence = "each request waits about 40 ms for a delayed ACK: the server writes its answer in parts with Nagle's algorithm on".into();
    Verdict::Binds { confidence, sentence, evidence }
}

#[cfg(test)]
mod tests;
