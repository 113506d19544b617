//! The server accepts connections too slowly for its listen backlog, and connects are dropped.

use run::{ErrorKind, Trial};

use super::{Rule, Verdict, measured, server};
use crate::Facts;
use crate::facts::{Plateau, clients, server_of};
use crate::number::{duration, figure, percent, positive, ratio};
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "accept-queue",
    needs: &["tcp.listen_overflows", "tcp.listen_drops", "listen.drops", "listen.queue", "tcp.syn_retrans"],
    judge,
    advice: &[
        "Raise the backlog that the server passes to listen(), and net.core.somaxconn, which caps it.",
        "Accept everything that waits each time the listener is ready, in a thread that does nothing else or in every worker.",
    ],
    explain: "Linux drops the SYN when the accept queue (backlog + 1) is full and says nothing to the client, which sends it again \
              after 1 s. A few connects then take 1 s, 2 s or more while all others are fast, and the server idles. The kernel \
              counts ListenOverflows and ListenDrops. Told apart from a server whose processors or workers are full: there the \
              queue overflows only beyond the rate that it cannot serve anyway.",
};

/// Share of connects dropped from which the queue counts.
const DROPPED: f64 = 0.01;
/// The kernel's first wait before it sends a SYN again, less a tenth, microseconds.
const SYN_AGAIN_US: f64 = 900_000.0;

struct Seen<'a> {
    view: View<'a>,
    counter: &'static str,
    drops: f64,
    share: f64,
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Err(verdict) = server(facts) {
        return by_client(facts).unwrap_or(verdict);
    }
    let seen: Vec<Seen<'_>> = trials(facts).into_iter().filter_map(seen).collect();
    let Some(worst) = seen.into_iter().max_by(|a, b| a.share.total_cmp(&b.share)) else {
        return by_client(facts).unwrap_or_else(|| {
            Verdict::CannotSay(vec![
                "tcp.listen_overflows and tcp.listen_drops of the server's network namespace".into(),
            ])
        });
    };
    let text =
        format!("{} of the connects met a full accept queue ({} drops)", percent(worst.share), figure(worst.drops));
    if worst.share < DROPPED || worst.drops < 3.0 {
        return Verdict::RuledOut(text);
    }
    bind(&worst, text)
}

/// The trials that count: around the limit, not far beyond it, where any server's queue overflows.
fn trials<'a>(facts: &Facts<'a>) -> Vec<&'a Trial> {
    let Plateau::Flat { from, .. } = facts.plateau else { return facts.focus() };
    facts.sweep.iter().copied().filter(|t| clients(t) >= from && clients(t) <= 4.0 * from).collect()
}

fn seen(trial: &Trial) -> Option<Seen<'_>> {
    let view = server_of(trial)?;
    let host = ["tcp.listen_overflows", "tcp.listen_drops"].into_iter().filter_map(|id| Some((id, view.value(id)?)));
    // The listener's own counter also takes in segments of connections that are not up yet, where packets are lost.
    let own = || view.value("listen.drops").map(|n| ("listen.drops", n));
    let (counter, drops) = host.max_by(|a, b| a.1.total_cmp(&b.1)).or_else(own)?;
    let tried = view.value("tcp.passive_opens").unwrap_or(trial.measured.tally.connected as f64) + drops;
    Some(Seen { view, counter, drops, share: ratio(drops, tried).unwrap_or(0.0) })
}

fn bind(worst: &Seen<'_>, text: String) -> Verdict {
    let (view, trial) = (&worst.view, worst.view.trial);
    let mut evidence = vec![measured(view, (worst.counter, ""), (worst.drops, ""), Some(0.0), text)];
    let mut confidence: f64 = 0.75;
    let limit = view.instances("listen.limit").into_iter().map(|(_, l)| l).reduce(f64::min);
    if let Some(queue) = view.max("listen.queue") {
        let full = limit.is_some_and(|l| queue >= l);
        let of = limit.map_or(String::new(), |l| format!(" (its limit is {})", figure(l)));
        evidence.push(measured(
            view,
            ("listen.queue", ""),
            (queue, ""),
            limit,
            format!("up to {} connections waited to be accepted{of}", figure(queue)),
        ));
        confidence += if full { 0.1 } else { 0.0 };
    }
    if let Some(e) = slow_connects(trial) {
        evidence.push(e);
        confidence += 0.1;
    }
    if let Some(used) = view.cpu_used().zip(view.cpu_allowed()).and_then(|(u, a)| ratio(u, a)) {
        let text = format!("the server used {} of its processors meanwhile", percent(used));
        evidence.push(measured(view, ("process.cpu", ""), (used, ""), None, text));
    }
    let sentence = format!(
        "the server accepts too slowly for its backlog{}: {} of the connects were dropped and tried again a second later",
        limit.map_or(String::new(), |l| format!(" of {}", figure(l))),
        percent(worst.share)
    );
    Verdict::Binds { confidence, sentence, evidence }
}

/// Connects that needed the SYN to be sent again, or never came up.
fn slow_connects(trial: &Trial) -> Option<run::Evidence> {
    let client = View::new("client", trial, &trial.client);
    let c = trial.connect_us;
    let slow = [("connect_us.p99", c.p99), ("connect_us.p99_9", c.p99_9), ("connect_us.max", c.max)];
    if let Some((id, us)) = slow.into_iter().find(|(_, us)| *us >= SYN_AGAIN_US && us.is_finite()) {
        let text = format!("connects took up to {} ({id}): the SYN was sent again after 1 s", duration(us));
        return Some(measured(&client, (id, ""), (us, "us"), Some(1e6), text));
    }
    let failed = trial.tally.errors.0.get(&ErrorKind::ConnectTimeout).copied().unwrap_or(0) + trial.tally.phantom;
    let text = format!("{} connects were not up in time or were never answered", figure(failed as f64));
    (failed > 0).then(|| measured(&client, ("errors", ""), (failed as f64, ""), Some(0.0), text))
}

/// Without the server's counters: SYNs sent again while no other segment is lost.
fn by_client(facts: &Facts<'_>) -> Option<Verdict> {
    let view = facts.client()?;
    let syn = view.value("tcp.syn_retrans")?;
    let all = view.value("tcp.retrans_segs")?;
    let tried = positive(view.value("tcp.active_opens")?)?;
    let slow = slow_connects(view.trial)?;
    if syn < 3.0 || syn / tried < DROPPED || all - syn > 0.1 * syn {
        return None;
    }
    let text = format!("{} SYNs were sent again, and nearly no other segment", figure(syn));
    let evidence = vec![measured(&view, ("tcp.syn_retrans", ""), (syn, ""), Some(0.0), text), slow];
    let sentence =
        "connects are dropped and nothing else is: the server's accept queue overflows (seen from the client only)";
    Some(Verdict::Binds { confidence: 0.5, sentence: sentence.into(), evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Scene, Who};

    #[test]
    fn segments_that_a_listener_drops_on_a_lossy_line_are_no_overflow() {
        let lossy = Scene::new(500.0, 20_000.0).per_s(Who::Server, "listen.drops", "0.0.0.0:80", |p| p.x / 20.0);
        let judged = |scene: Scene| {
            let mut run = scene.run();
            crate::judge(&mut run);
            (RULE.judge)(&Facts::of(&run))
        };
        assert!(matches!(judged(lossy), Verdict::RuledOut(_)));
        let unknown = Scene::new(500.0, 20_000.0)
            .none(Who::Server, "tcp.listen_overflows")
            .none(Who::Server, "tcp.listen_drops")
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:80", |p| p.x / 20.0);
        assert!(matches!(judged(unknown), Verdict::Binds { .. }));
    }
}
