//! Rule for packets that are lost and sent again.

use run::{Evidence, FigureUnit, Intensity, Trial};

use super::retransmissions::{Losses, again, caps_no_rate, growth, of_own_connections};
use super::rule::{PLAIN, Rule, Verdict};
use crate::context::evidence::measured;
use crate::context::single::{keeps_up, sides_of};
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::estimate::objective::holds;
use crate::failed::overflow::{Overflow, slow_share};
use crate::network::quic;
use crate::number::{counted, duration, figure, percent, rate};
use crate::signals::{Signal, medium};
use crate::thresholds::{
    AGAIN_PER_OVERFLOW, FEW_DROPS, FRAMES_COUNT, INDIRECT, LOST, LOST_MUCH, RETRANSMISSION_US, TWO_SIGNS, WEAK_SIGN,
};
use crate::{Facts, context::facts, in_flight::server_queue};

pub(super) const RULE: Rule = Rule {
    id: "network-loss",
    needs: &["tcp.retrans_segs", "tcp.out_segs", "quic"],
    shared: &[
        (
            &[
                "tcp.retrans_segs",
                "tcp.out_segs",
                "tcp.syn_retrans",
                "tcp.active_opens",
                "tcp.timeouts",
                "tcp.lost_retransmits",
                "interface.rx_drops",
                "interface.tx_drops",
                "softnet.dropped",
                "qdisc.drops",
                "medium.drops",
            ],
            "connections of the load sent segments or packets again, or its answers or connects waited for a timer",
        ),
        (&["udp.rcvbuf_errors", "udp6.rcvbuf_errors"], "they only rule out"),
    ],
    signals,
    judge,
    advice: &[
        "Find where packets are dropped: error and drop counters of the interfaces on the way (`ip -s link`), of queueing disciplines (`tc -s qdisc`) and of softnet.",
    ],
    explain: "One retransmitted segment in a hundred already costs much. A lost segment stops its connection for a \
              round trip. If the last segment of a message is lost, its connection waits for a timer of 200 ms or \
              more. A full accept queue also drops SYNs and the requests behind them; loadline does not count those as \
              network loss. On loopback only packets dropped by an interface count. SYNs that the client retransmits \
              although the accept queue was never full are lost on the way, for example by a firewall that limits new \
              connections, also on loopback. If the link is full, loss is a symptom: frames dropped by the medium's \
              own queue count for that link. A lost segment delays one connection, so losses that are as frequent \
              under light loads do not stop throughput from growing, unless workers wait until their answers are sent. \
              Over QUIC (HTTP/3), the packets count that the generator lost; losses of answers are not seen. Datagrams \
              that a full receive buffer of a UDP socket dropped had passed the network.",
    ..PLAIN
};

/// Counters of packets that were dropped on the path between the processes.
const DROPS: &[&str] = &["interface.rx_drops", "interface.tx_drops", "softnet.dropped", "qdisc.drops", "medium.drops"];

/// Returns the reason to believe that the network did not lose the segments or packets, if there is one.
fn not_the_network(facts: &Facts<'_>, losses: &Losses<'_>) -> Option<String> {
    let trial = losses.view.trial;
    let dropped = sides_of(trial).iter().any(|v| DROPS.iter().any(|id| v.whole_trial(id).is_some_and(|n| n >= 1.0)));
    if quic::is_used(facts.run) {
        let full = quic::dropped_by_full_buffers(trial);
        if full >= FEW_DROPS && !dropped {
            return Some(format!("full receive buffers of UDP sockets dropped {}", counted(full, "datagram")));
        }
    } else {
        let full = Overflow::of(trial).map_or(0.0, |overflow| overflow.drops);
        if full >= FEW_DROPS && losses.lost <= AGAIN_PER_OVERFLOW * full {
            return Some(format!("the server's accept queue dropped them: it was full {} times", figure(full)));
        }
    }
    (facts::loopback(facts.run) && !dropped).then(|| "loopback loses nothing, and no interface dropped a packet".into())
}

/// Returns the losses of the side that sent the largest share of its segments or packets again. Prefers a side whose
/// losses affect this load.
fn most<'a>(facts: &Facts<'a>) -> Option<Losses<'a>> {
    let mut seen: Vec<_> = facts.focus().into_iter().flat_map(|trial| again(facts, trial)).collect();
    seen.sort_by(|a, b| b.share().total_cmp(&a.share()));
    let ours = seen.iter().find(|losses| none_of_ours(facts, &losses.view).is_none());
    ours.or(seen.first()).copied()
}

fn signal(losses: &Losses<'_>) -> Signal {
    Signal::counted("share of the segments or packets that were sent again", (losses.share(), losses.lost), LOST)
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    most(facts).iter().map(signal).collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if crate::context::facts::unix_socket(facts.run) {
        return Verdict::RuledOut("a unix socket has no network".into());
    }
    let Some(losses) = most(facts) else {
        let missing = match quic::is_used(facts.run) {
            true => "the counts of a QUIC connection of the generator",
            false => "tcp.retrans_segs and tcp.out_segs of either side",
        };
        return Verdict::CannotSay(vec![missing.into()]);
    };
    let Losses { lost, sent, unit, .. } = losses;
    let text = format!("{} of {} {} ({})", figure(lost), counted(sent, unit.noun), unit.lost, percent(losses.share()));
    if losses.share() < LOST || lost < FRAMES_COUNT {
        return syns_lost(facts).unwrap_or(Verdict::RuledOut(text));
    }
    let growth = growth(facts, &losses.view);
    match harmless(facts, &losses, growth.as_ref()) {
        Some(why) => Verdict::RuledOut(format!("{text}, but {why}")),
        None => bind(&losses, growth.as_ref(), text),
    }
}

/// Returns the reason why the losses do not limit the rate. Returns `None` if the losses may limit the rate.
fn harmless(facts: &Facts<'_>, losses: &Losses<'_>, growth: Option<&Signal>) -> Option<String> {
    let overflow = || medium::overflow(losses.view.trial).map(|full| full.text);
    let came_back = || all_came_back(facts).map(|all| format!("all of the offered {} completed", rate(all)));
    let passed = || {
        let queue = server_queue::past_the_network(facts)?;
        Some(format!("these requests had passed the network: {}", queue.text))
    };
    not_the_network(facts, losses)
        .or_else(|| none_of_ours(facts, &losses.view))
        .or_else(overflow)
        .or_else(came_back)
        .or_else(passed)
        .or_else(|| growth.and_then(caps_no_rate))
}

fn bind(losses: &Losses<'_>, growth: Option<&Signal>, text: String) -> Verdict {
    let Losses { view, lost, sent, unit } = *losses;
    let mut evidence = vec![measured(&view, (unit.counter, ""), (lost, FigureUnit::Plain), Some(LOST * sent), text)];
    evidence.extend(further_counters(&view));
    let is_sure = losses.share() >= LOST_MUCH || evidence.len() > 1;
    evidence.extend(quic::path_line(view.trial));
    let grown = growth.map_or(1.0, |growth| growth.chance());
    Verdict::Binds {
        confidence: grown.min(signal(losses).chance()) * if is_sure { TWO_SIGNS } else { INDIRECT },
        sentence: format!("the network loses packets: {} {}", percent(losses.share()), unit.sentence),
        evidence,
    }
}

/// Returns evidence of the other counters that rise if packets are lost. Over QUIC, timers and retransmissions of TCP
/// belong to other connections.
fn further_counters(view: &View<'_>) -> Vec<Evidence> {
    let of_tcp: &[&str] = if view.trial.quic.is_some() { &[] } else { &["tcp.timeouts", "tcp.lost_retransmits"] };
    let grew = |id: &'static str, v: &View<'_>| {
        let n = v.value(id).filter(|n| *n >= 1.0)?;
        Some(measured(v, (id, ""), (n, FigureUnit::Plain), Some(0.0), format!("{id} grew by {}", figure(n))))
    };
    let ids = of_tcp.iter().chain(DROPS).copied();
    ids.flat_map(|id| sides_of(view.trial).into_iter().filter_map(move |v| grew(id, &v))).collect()
}

/// Returns the reason why the losses that a host counts do not affect this load. Returns `None` if the losses may
/// affect this load. The generator counts QUIC packets of this load only.
fn none_of_ours(facts: &Facts<'_>, view: &View<'_>) -> Option<String> {
    let trial = view.trial;
    let Some(again) = of_own_connections(facts, view) else {
        let times = trial.latency_us;
        // If even the median answer takes as long as the retransmission timer, a long answer is no sign of a
        // retransmission.
        let by_timer = times.p50 < RETRANSMISSION_US && times.max >= RETRANSMISSION_US;
        let waited = by_timer || slow_share(trial) >= LOST;
        return (!waited).then(|| {
            format!(
                "no answer of this load shows that it waited for a retransmission (median {}, longest {})",
                duration(times.p50),
                duration(times.max)
            )
        });
    };
    // Without pipelining, each answer needs at least one segment. With pipelining, one segment may carry several
    // answers.
    let least = LOST * trial.tally.completed as f64 / f64::from(trial.intensity.pipeline().max(1));
    (again < least.max(1.0)).then(|| format!("the connections of this load sent only {} again", figure(again)))
}

/// Decides whether the network loses packets, by the SYNs that the client sent again. SYNs that the server's full
/// accept queue dropped do not count as lost. All other SYNs that were sent again were lost on the network path. QUIC
/// sends no SYNs.
fn syns_lost(facts: &Facts<'_>) -> Option<Verdict> {
    if quic::is_used(facts.run) {
        return None;
    }
    let lost = |trial: &Trial| {
        let client = View::new("client", trial, &trial.client);
        let full = Overflow::of(trial)?;
        // The count of resent SYNs includes SYNs of other programs, so slow connects of the measured load must confirm
        // the losses.
        Some(slow_share(trial)).filter(|share| *share >= LOST)?;
        let dropped = full.drops + full.elsewhere;
        Some((client.whole_trial("tcp.syn_retrans")? - dropped, client.whole_trial("tcp.active_opens")?))
    };
    let worst = facts.focus().into_iter().filter_map(|t| Some((t, lost(t)?)));
    let (trial, (syns, opened)) = worst.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    if syns < FRAMES_COUNT || syns < LOST * opened {
        return None;
    }
    let client = View::new("client", trial, &trial.client);
    let text = format!(
        "the client retransmitted {} for {}, although the server's accept queue was not full",
        counted(syns, "SYN"),
        counted(opened, "connect")
    );
    let evidence =
        vec![measured(&client, ("tcp.syn_retrans", ""), (syns, FigureUnit::Plain), Some(LOST * opened), text)];
    let sentence =
        "the network loses connects: something between client and server (such as a firewall) drops SYNs".into();
    Some(Verdict::Binds { confidence: WEAK_SIGN, sentence, evidence })
}

/// Returns the completed rate of an open loop if the run has no sweep, nearly all requests completed, and the objective
/// was met. Even if losses delayed some answers of this open loop, they did not limit its rate.
fn all_came_back(facts: &Facts<'_>) -> Option<f64> {
    let trial = facts.decisive.filter(|t| !matches!(t.intensity, Intensity::Closed { .. }))?;
    let kept = facts.plateau == Plateau::NoResult && facts.failing.is_none() && holds(trial, &facts.limits);
    (kept && keeps_up(trial)).then_some(trial.rates.completed_rate)
}

#[cfg(test)]
mod tests;
