//! A window of TCP is too small for the distance: a sender stands still because of the peer's window or its own buffer.

use super::{Rule, Verdict, measured};
use crate::Facts;
use crate::facts::sides_of;
use crate::number::{duration, figure, percent};

pub(super) const RULE: Rule = Rule {
    id: "tcp-window",
    needs: &["connection.rwnd_limited", "connection.sndbuf_limited"],
    judge,
    advice: &[
        "Let the buffers grow: do not set SO_RCVBUF or SO_SNDBUF (that turns tuning off), and raise net.ipv4.tcp_rmem and tcp_wmem.",
        "One connection carries at most a window a round trip: more connections, or larger windows.",
    ],
    explain: "The kernel keeps, for each connection, the share of its sending time that it stood still because the other end's \
              window was used up or its own send buffer was full. More than half of the time with idle processors and a link \
              that is not full means that a window a round trip is the limit. A client that reads slowly shows the same \
              signs; a full generator is therefore looked for first.",
};

/// Share of the sending time from which a window is what binds.
const LIMITED: f64 = 0.5;

fn judge(facts: &Facts<'_>) -> Verdict {
    let Some(trial) = facts.decisive else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    let mut largest: Option<(crate::View<'_>, &str, f64)> = None;
    for view in sides_of(trial) {
        for id in ["connection.rwnd_limited", "connection.sndbuf_limited"] {
            if let Some(share) = view.value(id).filter(|s| largest.is_none_or(|(_, _, l)| *s > l)) {
                largest = Some((view, id, share));
            }
        }
    }
    let Some((view, id, share)) = largest else {
        return Verdict::CannotSay(vec!["connection.rwnd_limited and connection.sndbuf_limited of either side".into()]);
    };
    let what = if id.contains("rwnd") { "the window of the other end" } else { "its own send buffer" };
    let text = format!("a sending connection stood still {} of its time because of {what}", percent(share));
    if share < LIMITED {
        return Verdict::RuledOut(text);
    }
    let mut evidence = vec![measured(&view, (id, ""), (share, ""), Some(LIMITED), text.clone())];
    if let Some(rtt) = view.value("connection.rtt") {
        evidence.push(measured(
            &view,
            ("connection.rtt", ""),
            (rtt, "us"),
            None,
            format!("its round trip took {}", duration(rtt)),
        ));
    }
    if let Some(window) = view.value("connection.peer_window") {
        let text = format!("the other end's window was {} B", figure(window));
        evidence.push(measured(&view, ("connection.peer_window", ""), (window, "B"), None, text));
    }
    Verdict::Binds { confidence: 0.8, sentence: format!("TCP stands still: {text}"), evidence }
}
