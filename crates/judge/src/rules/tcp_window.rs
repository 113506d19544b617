//! Rule for a TCP window that is too small for the distance: the receiver's window or the sender's buffer makes the
//! sender wait.
//!
//! The kernel's own figures (`rwnd_limited`, `sndbuf_limited`) are lower bounds of the time for which a sender waits. A
//! congestion control with pacing (BBR) spreads the packets of a window over the round trip. The kernel's figures do
//! not include the gaps between paced packets. With pacing, the kernel's figures say 24 to 50 % of the time, although
//! only the window limits the transfer.
//!
//! The figures therefore only show which sender to examine. The verdict on a TCP window depends on two further figures.
//! The first figure is the number of bytes per round trip, divided by the TCP window. The second figure is the share of
//! a request's time in which data waited at the sender.

use run::{FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Verdict};
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::sides_of;
use crate::context::view::View;
use crate::in_flight::server_queue;
use crate::network::quic;
use crate::number::{duration, figure, percent, positive, ratio};
use crate::signals::Signal;
use crate::thresholds::{
    BUFFER_FILLED, FULL_WIDTH, STALLS_SEEN, TRIP_QUEUED, TWO_SIGNS, UNREAD, WEAK_SIGN, WINDOW_FILLED, WINDOW_WAIT,
};

pub(super) const RULE: Rule = Rule {
    id: "tcp-window",
    needs: &[
        "connection.rwnd_limited",
        "connection.sndbuf_limited",
        "connection.sampled",
        "connection.rtt",
        "connection.delivery_rate",
    ],
    signals,
    judge,
    advice: &[
        "Do not set SO_RCVBUF or SO_SNDBUF (that turns the kernel's tuning off), and raise net.ipv4.tcp_rmem and tcp_wmem: the buffers can then grow.",
        "Use more connections or larger windows: one connection carries at most one window per round trip.",
    ],
    explain: "One connection carries at most one window, and at most its send buffer, per round trip. The rule needs three \
              signs. Data waits behind the bytes in flight for more than half of a request's time, so a larger window would \
              at least halve that time. The sender carries nearly a whole window (or half of its buffer) each round trip. \
              And the kernel saw the sender stall. A round trip of 1.5 times its least means a queue on the way instead. A \
              receiver that leaves half a window unread is a slow reader instead. At a plateau, a window counts only if the \
              server's workers wait for it, because more connections carry more. Congestion controls that pace, such as \
              BBR, hide most stalls, so the kernel's counter alone does not decide.",
    ..PLAIN
};

/// Limit that may make a sender wait.
struct Limit {
    /// Counter of the share of the sending time for which the TCP window or the send buffer stopped a sender.
    share: &'static str,
    /// Counter of the connections that the TCP window or the send buffer stopped at the moment of a sample.
    standing: &'static str,
    /// Counter of the size of the TCP window or of the send buffer, bytes.
    room: &'static str,
    /// Minimum share of `room` that each round trip must carry if the TCP window or the send buffer is the cause.
    filled: f64,
    words: &'static str,
}

const LIMITS: &[Limit] = &[
    Limit {
        share: "connection.rwnd_limited",
        standing: "connection.waiting",
        room: "connection.peer_window",
        filled: WINDOW_FILLED,
        words: "the receiver's TCP window",
    },
    Limit {
        share: "connection.sndbuf_limited",
        standing: "connection.write_full",
        // A program that waits for a full send buffer continues once a third of the buffer is free. A round trip
        // therefore carries about half of the buffer.
        room: "connection.send_queue",
        filled: BUFFER_FILLED,
        words: "the sender's buffer",
    },
];

/// Returns one signal: the largest share of its sending time for which either side was stopped by the TCP window or the
/// send buffer.
fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let views = facts.decisive.map(sides_of).unwrap_or_default();
    let shares = views.iter().flat_map(|view| LIMITS.iter().filter_map(|limit| view.value(limit.share)));
    let most = shares.max_by(f64::total_cmp);
    let signal = |share| Signal::new("sending time that a window stopped", share, (STALLS_SEEN, FULL_WIDTH));
    most.map(signal).into_iter().collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if crate::context::facts::unix_socket(facts.run) {
        return Verdict::RuledOut("a unix socket has no network".into());
    }
    if quic::is_used(facts.run) {
        return Verdict::RuledOut("HTTP/3 runs over QUIC, which has no TCP window".into());
    }
    let Some(trial) = facts.decisive else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    let views = sides_of(trial);
    let mut missing = Vec::new();
    let mut out: Option<(f64, String)> = None;
    for (at, view) in views.iter().enumerate() {
        let other = views.get(1 - at.min(1));
        let bytes = sent_per_request(trial, at);
        for limit in LIMITS {
            let found = look(limit, view, other, bytes);
            match found.and_then(|found| caps_no_rate(facts, limit, view).map_or(Ok(found), Err)) {
                Ok(found) => return found,
                Err(Not::Known(what)) => missing.push(format!("{what} of the {}", view.role)),
                Err(Not::Limited(share, why)) => {
                    out = out.filter(|(most, _)| *most >= share).or(Some((share, why)));
                }
            }
        }
    }
    if trial.server.is_none() {
        missing.push("the server's connections: a stalled sender there cannot be seen from here".into());
    }
    match out {
        Some((_, why)) if missing.is_empty() => Verdict::RuledOut(why),
        _ => Verdict::CannotSay(missing),
    }
}

/// Reason why a limit is ruled out, or a missing counter.
enum Not {
    Known(&'static str),
    Limited(f64, String),
}

fn look(limit: &Limit, view: &View<'_>, other: Option<&View<'_>>, bytes: Option<f64>) -> Result<Verdict, Not> {
    let value = |id: &'static str| view.value(id).ok_or(Not::Known(id));
    let share = value(limit.share)?;
    let text = format!("a sending connection stalled {} of its time for {}", percent(share), limit.words);
    if share < STALLS_SEEN {
        return Err(Not::Limited(share, text));
    }
    let not = |why: String| Not::Limited(share, format!("{text}, but {why}"));
    let standing = of_a_request(view, value(limit.standing)?, value("connection.sampled")?);
    let counted = of_a_transfer(view, bytes, view.value(limit.room));
    let standing = standing.into_iter().chain(counted).reduce(f64::max).ok_or(Not::Known("requests in flight"))?;
    if standing < WINDOW_WAIT {
        return Err(not(format!("data waited only {} of a request's time", percent(standing))));
    }
    let (rtt, rate, room) = (value("connection.rtt")?, value("connection.delivery_rate")?, value(limit.room)?);
    let filled = positive(room).map_or(0.0, |room| rtt / 1e6 * rate / room);
    if filled < limit.filled {
        return Err(not(format!("a round trip carried {} of the {} B", percent(filled), figure(room))));
    }
    if let Some(least) = view.value("connection.min_rtt").filter(|least| rtt > TRIP_QUEUED * least) {
        return Err(not(format!("its round trip of {} includes a queue (least: {})", duration(rtt), duration(least))));
    }
    let unread = other.and_then(|o| o.value("connection.receive_queue"));
    if let Some(unread) = unread.filter(|bytes| *bytes >= UNREAD * room) {
        return Err(not(format!("the receiver left {} B unread: it reads slowly", figure(unread))));
    }
    let carried = format!("a round trip carried {} of the {} B of {}", percent(filled), figure(room), limit.words);
    let trip = format!("the round trip took {}", duration(rtt));
    let waited = format!("data waited behind the bytes in flight {} of a request's time", percent(standing));
    let standing_of_it = (standing, FigureUnit::Plain);
    Ok(Verdict::Binds {
        confidence: if unread.is_some() { TWO_SIGNS } else { WEAK_SIGN },
        sentence: format!("{} is too small: data waits for it {} of a request's time", limit.words, percent(standing)),
        evidence: vec![
            measured(view, (limit.share, ""), (share, FigureUnit::Plain), Some(STALLS_SEEN), text),
            measured(view, (limit.standing, ""), standing_of_it, Some(WINDOW_WAIT), waited),
            measured(view, ("connection.rtt", ""), (rtt, FigureUnit::Micros), None, trip),
            measured(view, (limit.room, ""), (filled * room, FigureUnit::Bytes), Some(room), carried),
        ],
    })
}

/// Returns the reason why a TCP window does not keep throughput from growing. A TCP window delays only one connection,
/// so more connections carry more data, until a shared resource is full. With more clients at the same rate, the wait
/// for the window takes a smaller share of a request's time. Returns `None` if workers of the server wait for the
/// window.
fn caps_no_rate(facts: &Facts<'_>, limit: &Limit, view: &View<'_>) -> Option<Not> {
    if !facts.is_rate_limited() {
        return None;
    }
    let waits = |crowded: &View<'_>| {
        let side = sides_of(crowded.trial).into_iter().find(|side| side.role == view.role)?;
        of_a_request(&side, side.value(limit.standing)?, side.value("connection.sampled")?)
    };
    let share = server_queue::share_of_handled(facts, waits).filter(|_| server_queue::adds_connections(facts))?;
    let why = format!(
        "with the most requests in flight data waited for {} only {} of a request's time, and throughput did not grow: more \
         connections carry more",
        limit.words,
        percent(share)
    );
    (share < WINDOW_WAIT).then(|| Not::Limited(view.value(limit.share).unwrap_or(0.0), why))
}

/// Returns the share of a request's time for which the TCP window or the send buffer stopped the request's connection.
/// Leaves out connections without a request in flight. If only some connections were sampled, the share is a lower
/// bound.
fn of_a_request(view: &View<'_>, standing: f64, sampled: f64) -> Option<f64> {
    let in_flight = positive(view.trial.rates.concurrency)?;
    ratio(standing, positive(sampled)?.min(in_flight)).map(|share| share.min(1.0))
}

/// Returns the bytes that a side sends per request; side 0 is the client.
fn sent_per_request(trial: &Trial, side: usize) -> Option<f64> {
    let tally = &trial.measured.tally;
    match side {
        0 => ratio(tally.bytes_sent as f64, tally.sent as f64),
        _ => ratio(tally.bytes_received as f64, tally.completed as f64),
    }
}

/// Computes the share of the response time for which a transfer must wait, if each round trip carries one window (RFC
/// 9293, section 3.8.6). The result is also valid for short trials, in which connections are read too seldom to see a
/// wait.
fn of_a_transfer(view: &View<'_>, bytes: Option<f64>, window: Option<f64>) -> Option<f64> {
    let windows = ratio(bytes?, positive(window?)?)?.ceil();
    let waited_us = (windows - 1.0).max(0.0) * view.value("connection.min_rtt")?;
    ratio(waited_us, positive(view.trial.latency_us.p50)?).map(|share| share.min(1.0))
}

#[cfg(test)]
mod tests;
