//! Rule for packets that are lost and sent again.

use run::{FigureUnit, Intensity, Trial};

use super::retransmissions::{again, caps_no_rate, growth, of_own_connections};
use super::rule::{PLAIN, Rule, Verdict};
use crate::context::evidence::measured;
use crate::context::single::{keeps_up, sides_of};
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::estimate::objective::holds;
use crate::failed::overflow::{Overflow, slow_share};
use crate::number::{counted, duration, figure, percent, rate};
use crate::signals::{Signal, medium};
use crate::thresholds::{
    AGAIN_PER_OVERFLOW, FEW_DROPS, FRAMES_COUNT, INDIRECT, LOST, LOST_MUCH, RETRANSMISSION_US, TWO_SIGNS, WEAK_SIGN,
};
use crate::{Facts, context::facts, in_flight::server_queue};

pub(super) const RULE: Rule = Rule {
    id: "network-loss",
    needs: &["tcp.retrans_segs", "tcp.out_segs"],
    shared: &[(
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
        "sampled connections of the load sent segments again, or its answers or connects waited for a timer",
    )],
    signals,
    judge,
    advice: &[
        "Find where packets are dropped: error and drop counters of the interfaces on the way (`ip -s link`), of queueing disciplines (`tc -s qdisc`) and of softnet.",
    ],
    explain: "One retransmitted segment in a hundred already costs much. A lost segment stops its connection for a round trip, \
              a lost last one for a timer of 200 ms or more. A full accept queue also drops SYNs and the requests behind \
              them; loadline does not count those as network loss. On loopback only packets dropped by an interface count. \
              SYNs that the client retransmits although the accept queue was never full are lost on the way, for example \
              by a firewall that limits new connections, also on loopback. If the link is full, loss is a symptom: frames \
              dropped by the medium's own queue count for that link. A lost segment delays one connection, so losses that \
              are as frequent under light loads do not stop throughput from growing, unless workers wait until their answers \
              are sent.",
    ..PLAIN
};

/// Counters of packets that were dropped on the path between the processes.
const DROPS: &[&str] = &["interface.rx_drops", "interface.tx_drops", "softnet.dropped", "qdisc.drops", "medium.drops"];

/// Returns the reason to believe that the network did not lose the retransmitted segments, if there is one.
fn not_the_network(facts: &Facts<'_>, trial: &Trial, lost: f64) -> Option<String> {
    let full = Overflow::of(trial).map_or(0.0, |overflow| overflow.drops);
    if full >= FEW_DROPS && lost <= AGAIN_PER_OVERFLOW * full {
        return Some(format!("the server's accept queue dropped them: it was full {} times", figure(full)));
    }
    let views = sides_of(trial);
    let dropped = views.iter().any(|v| DROPS.iter().any(|id| v.whole_trial(id).is_some_and(|n| n >= 1.0)));
    (facts::loopback(facts.run) && !dropped).then(|| "loopback loses nothing, and no interface dropped a packet".into())
}

/// Returns the side that sent the largest share of its segments again. Also returns the number of segments that this
/// side sent again, and the number of all its segments. Prefers a side whose losses affect this load.
fn most<'a>(facts: &Facts<'a>) -> Option<(View<'a>, f64, f64)> {
    let mut seen: Vec<_> = facts.focus().into_iter().flat_map(again).collect();
    seen.sort_by(|a, b| (b.1 / b.2).total_cmp(&(a.1 / a.2)));
    let ours = seen.iter().find(|(view, ..)| none_of_ours(facts, view).is_none());
    ours.or(seen.first()).copied()
}

fn signal(lost: f64, sent: f64) -> Signal {
    Signal::counted("share of the segments that were sent again", (lost / sent, lost), LOST)
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    most(facts).map(|(_, lost, sent)| signal(lost, sent)).into_iter().collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if crate::context::facts::unix_socket(facts.run) {
        return Verdict::RuledOut("a unix socket has no network".into());
    }
    let Some((view, lost, sent)) = most(facts) else {
        return Verdict::CannotSay(vec!["tcp.retrans_segs and tcp.out_segs of either side".into()]);
    };
    let share = lost / sent;
    let text = format!("{} of {} retransmitted ({})", figure(lost), counted(sent, "segment"), percent(share));
    if share < LOST || lost < FRAMES_COUNT {
        return syns_lost(facts).unwrap_or(Verdict::RuledOut(text));
    }
    if let Some(why) = not_the_network(facts, view.trial, lost) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    if let Some(why) = none_of_ours(facts, &view) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    if let Some(full) = medium::overflow(view.trial) {
        return Verdict::RuledOut(format!("{text}, but {}", full.text));
    }
    if let Some(all) = all_came_back(facts) {
        return Verdict::RuledOut(format!("{text}, but all of the offered {} completed", rate(all)));
    }
    if let Some(queue) = server_queue::past_the_network(facts) {
        return Verdict::RuledOut(format!("{text}, but these requests had passed the network: {}", queue.text));
    }
    let growth = growth(facts, &view);
    if let Some(why) = growth.as_ref().and_then(caps_no_rate) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    let mut evidence =
        vec![measured(&view, ("tcp.retrans_segs", ""), (lost, FigureUnit::Plain), Some(LOST * sent), text)];
    for id in ["tcp.timeouts", "tcp.lost_retransmits"].iter().chain(DROPS).copied() {
        for v in sides_of(view.trial) {
            if let Some(n) = v.value(id).filter(|n| *n >= 1.0) {
                evidence.push(measured(
                    &v,
                    (id, ""),
                    (n, FigureUnit::Plain),
                    Some(0.0),
                    format!("{id} grew by {}", figure(n)),
                ));
            }
        }
    }
    Verdict::Binds {
        confidence: growth.map_or(1.0, |growth| growth.chance()).min(signal(lost, sent).chance())
            * if share >= LOST_MUCH || evidence.len() > 1 { TWO_SIGNS } else { INDIRECT },
        sentence: format!("the network loses packets: {} of the segments were retransmitted", percent(share)),
        evidence,
    }
}

/// Returns the reason why the losses that a host counts do not affect this load. Returns `None` if the losses may
/// affect this load.
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
/// accept queue dropped do not count as lost. All other SYNs that were sent again were lost on the network path.
fn syns_lost(facts: &Facts<'_>) -> Option<Verdict> {
    let lost = |trial: &Trial| {
        let client = View::new("client", trial, &trial.client);
        let full = Overflow::of(trial)?;
        // The count of resent SYNs includes SYNs of other programs, so slow connects of this load must confirm the
        // losses.
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
