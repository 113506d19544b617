//! Rule for a server that accepts connections too slowly: its listen backlog overflows, and connects are dropped.

use run::{FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::context::evidence::{cpu_share_line, measured};
use crate::context::facts::unix_socket;
use crate::context::single::clients;
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::failed::overflow::{HeldConnections, Overflow, always_full, backlog, slow_connects, slow_share};
use crate::failed::refused_handshakes::RefusedHandshakes;
use crate::network::quic;
use crate::number::{counted, figure, percent, positive};
use crate::thresholds::{
    CONNECTS_DROPPED, FEW_DROPS, INDIRECT, LIKELY, LIMIT_CONNECTS, ONE_SIGN, OTHERS_USE, SUREST, TWO_SIGNS,
};
use crate::waits;

pub(super) const RULE: Rule = Rule {
    id: "accept-queue",
    needs: &["tcp.listen_overflows", "tcp.listen_drops", "listen.drops", "listen.queue", "tcp.syn_retrans"],
    explains: &["network-loss"],
    shared: &[
        (
            &["tcp.listen_overflows", "tcp.listen_drops", "tcp.passive_opens"],
            "the listener of the server dropped connects or was full, or connects of the load took a second",
        ),
        (&["tcp.syn_retrans", "tcp.retrans_segs", "tcp.active_opens"], "connects of the load took a second"),
    ],
    signals: |facts| Overflow::worst(facts).iter().map(Overflow::signal).collect(),
    judge,
    advice: &[
        "Raise the backlog that the server passes to listen(), and net.core.somaxconn, which limits it.",
        "Accept all waiting connections each time the listener is ready, in a thread of its own or in every worker.",
    ],
    explain: "Linux drops the SYN when the accept queue (backlog + 1) is full. It does not tell the client, which repeats the \
              SYN after 1 s. A few connects then take 1 s, 2 s or more while all others are fast, and the server idles. The \
              kernel counts ListenOverflows of the host and the drops of each listener; only those of this server's listener, or \
              our own slow connects, count here. With full CPUs or workers the queue overflows only beyond the \
              rate that the server cannot serve anyway: then throughput stopped growing before the first drop, or the \
              samples of the threads show what the workers wait for.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    if unix_socket(facts.run) {
        return Verdict::RuledOut("a connect to a unix socket waits or is refused; none is dropped".into());
    }
    if quic::is_used(facts.run) {
        return Verdict::RuledOut("HTTP/3 runs over UDP, where no connection waits to be accepted".into());
    }
    if let Err(verdict) = server(facts) {
        return by_client(facts).unwrap_or(verdict);
    }
    let Some(worst) = Overflow::worst(facts) else {
        return by_client(facts).unwrap_or_else(|| {
            Verdict::CannotSay(vec![
                "tcp.listen_overflows and tcp.listen_drops of the server's network namespace".into(),
            ])
        });
    };
    let elsewhere = match worst.elsewhere >= 1.0 {
        true => format!("; {} more at other listeners of the host", figure(worst.elsewhere)),
        false => String::new(),
    };
    let cost = match worst.share > worst.of_connects {
        true => format!(", and waiting for a second SYN may take {} of the clients' time", percent(worst.share)),
        false => String::new(),
    };
    let text = format!(
        "{} of the connects found the accept queue full ({} drops{elsewhere}){cost}",
        percent(worst.of_connects),
        figure(worst.drops)
    );
    if !worst.counts() {
        return Verdict::RuledOut(text);
    }
    if let Some(why) = waits_for_workers(facts, &worst.view).or_else(|| was_flat_before(facts)) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    // Clients that the server refused connect again, which fills the queue.
    let refused = RefusedHandshakes::of(worst.view.trial).filter(|refused| refused.refused >= worst.drops);
    if let Some(refused) = refused {
        return Verdict::RuledOut(format!("{text}, but {}", refused.text()));
    }
    if let Some(held) = HeldConnections::of(worst.view.trial) {
        return Verdict::RuledOut(format!("{text}, but {}", held.text()));
    }
    bind(facts, &worst, text)
}

/// Describes why requests queue inside the server, from samples of the server's threads. A server whose workers are all
/// busy accepts no connections, so a longer queue would not help.
fn waits_for_workers(facts: &Facts<'_>, view: &View<'_>) -> Option<String> {
    let finding = waits::busy_workers(&facts.waits, view)?;
    if waits::is_only_worker(finding) && takes_the_whole_queue(facts, view) {
        return None;
    }
    Some(format!("connects wait because of a cause inside the server: {}", finding.sentence))
}

/// Returns true if the server handles more than one request at a time, and at least as many as its accept queue has
/// places. A single blocked worker handles one request at a time, unless it accepts all waiting connections at once. If
/// a worker accepts all waiting connections at once, the length of the accept queue limits the number of its requests.
fn takes_the_whole_queue(facts: &Facts<'_>, view: &View<'_>) -> bool {
    let at_a_time = crate::context::knee::of_sweep(facts).map(|knee| knee.concurrency);
    backlog(view).zip(at_a_time).is_some_and(|(places, at_a_time)| places > 1.0 && at_a_time >= places)
}

/// Describes the steps of a plateau in which no connect was dropped. Returns `None` if connects were dropped in all
/// steps of the plateau, or in all except one. If throughput stopped growing before the first connect was dropped, the
/// accept queue does not limit throughput. With far more clients than the server needs, the accept queue of any server
/// overflows.
fn was_flat_before(facts: &Facts<'_>) -> Option<String> {
    let counts = without_drops(facts);
    let [few, many] = [f64::min, f64::max].map(|end| counts.iter().copied().reduce(end));
    let (few, many) = few.zip(many).filter(|(few, many)| many > few)?;
    Some(format!(
        "throughput no longer grew from {} to {} clients, where no connect was dropped",
        figure(few),
        figure(many)
    ))
}

/// Returns the numbers of clients of the plateau's steps in which no connect was dropped.
fn without_drops(facts: &Facts<'_>) -> Vec<f64> {
    let Plateau::Flat { from, .. } = facts.plateau else { return Vec::new() };
    let on_plateau = facts.sweep.iter().filter(|trial| clients(trial) >= from);
    let kept = on_plateau.filter(|trial| Overflow::of(trial).is_some_and(|overflow| overflow.drops < FEW_DROPS));
    kept.map(|trial| clients(trial)).collect()
}

/// Returns true if busy workers would show the same signs as a listener that accepts slowly. Samples of the threads
/// tell a slow listener from busy workers. If each request has its own connection, connects are dropped in both cases,
/// but busy workers reach their highest rate before the first drop. If clients keep their connections and the accept
/// queue is always full, the workers may be busy with accepted connections.
fn may_be_busy(facts: &Facts<'_>, view: &View<'_>) -> bool {
    let looks_the_same = match keeps_connections(view.trial) {
        true => always_full(view).is_some(),
        false => facts.plateau == Plateau::NoResult || !without_drops(facts).is_empty(),
    };
    looks_the_same && !waits::has_enough_samples(facts.run)
}

/// Returns true if the clients use a connection for many requests, in the whole trial and in its window.
fn keeps_connections(trial: &Trial) -> bool {
    let window = &trial.measured.tally;
    waits::keeps_connections(trial) && window.connected as f64 <= LIMIT_CONNECTS * window.completed as f64
}

fn bind(facts: &Facts<'_>, worst: &Overflow<'_>, text: String) -> Verdict {
    let (view, trial) = (&worst.view, worst.view.trial);
    let mut evidence = vec![measured(view, (worst.counter, ""), (worst.drops, FigureUnit::Plain), Some(0.0), text)];
    let mut confidence: f64 = ONE_SIGN;
    let limit = backlog(view);
    if let Some(queue) = view.whole_trial("listen.queue") {
        let full = limit.is_some_and(|l| queue >= l);
        let of = limit.map_or(String::new(), |l| format!(" (limit {})", figure(l)));
        evidence.push(measured(
            view,
            ("listen.queue", ""),
            (queue, FigureUnit::Plain),
            limit,
            format!("up to {} waited to be accepted{of}", counted(queue, "connection")),
        ));
        confidence = if full { TWO_SIGNS } else { confidence };
    }
    let slow = slow_connects(trial);
    if slow.is_some() {
        confidence = if confidence >= TWO_SIGNS { SUREST } else { TWO_SIGNS };
    }
    if !worst.is_own() || may_be_busy(facts, view) {
        // If the server's own listener shows no overflow, other causes are possible. SYNs that the network lost also
        // slow down connects, and the host's counter may include drops of another listener.
        confidence = confidence.min(INDIRECT);
    }
    // Only slow connects of this generator prove that its own connects were dropped and repeated.
    let effect = match slow {
        Some(_) => format!("{} of the connects wait a second longer", percent(worst.of_connects)),
        None if worst.drops == 1.0 => "1 connect was dropped".into(),
        None => format!("{} connects were dropped", figure(worst.drops)),
    };
    evidence.extend(slow);
    evidence.extend(cpu_share_line(view));
    let sentence = format!(
        "the server accepts connections too slowly: its backlog{} overflows, and {effect}",
        limit.map_or(String::new(), |l| format!(" of {}", figure(l)))
    );
    Verdict::Binds { confidence: confidence * worst.signal().chance(), sentence, evidence }
}

/// Decides whether the accept queue was full, from the client's counters alone. If the client resent SYNs but hardly
/// any other segment, the server's accept queue was full. Segments of the whole trial are counted, because a dropped
/// SYN is sent again only after a second.
fn by_client(facts: &Facts<'_>) -> Option<Verdict> {
    let view = facts.client()?;
    let syn = view.whole_trial("tcp.syn_retrans")?;
    let all = view.whole_trial("tcp.retrans_segs")?;
    let tried = positive(view.whole_trial("tcp.active_opens")?)?;
    let slow = slow_connects(view.trial).filter(|_| slow_share(view.trial) >= CONNECTS_DROPPED)?;
    if syn < FEW_DROPS || syn / tried < CONNECTS_DROPPED || all - syn > OTHERS_USE * syn {
        return None;
    }
    let text = format!("{} SYNs were retransmitted, and hardly any other segment", figure(syn));
    let evidence = vec![measured(&view, ("tcp.syn_retrans", ""), (syn, FigureUnit::Plain), Some(0.0), text), slow];
    let sentence = "the server's accept queue overflows: only connects are dropped (seen from the client alone)";
    Some(Verdict::Binds { confidence: LIKELY, sentence: sentence.into(), evidence })
}

#[cfg(test)]
mod tests;
