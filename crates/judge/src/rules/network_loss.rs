//! Rule for packets that are lost and sent again.

use run::{FigureUnit, Intensity, Trial};

use super::retransmissions::{again, caps_no_rate, growth, of_own_connections};
use super::rule::{PLAIN, Rule, Verdict};
use crate::evidence::measured;
use crate::number::{counted, duration, figure, percent, rate};
use crate::objective::holds;
use crate::overflow::{Overflow, slow_share};
use crate::signals::Signal;
use crate::single::{keeps_up, sides_of};
use crate::sweep::Plateau;
use crate::thresholds::{
    AGAIN_PER_OVERFLOW, FEW_DROPS, FRAMES_COUNT, INDIRECT, LOST, LOST_MUCH, RETRANSMISSION_US, TWO_SIGNS, WEAK_SIGN,
};
use crate::view::View;
use crate::{Facts, facts, server_queue};

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
    if crate::facts::unix_socket(facts.run) {
        return Verdict::RuledOut("a unix socket has no network".into());
    }
    let Some((view, lost, sent)) = most(facts) else {
        return Verdict::CannotSay(vec!["tcp.retrans_segs and tcp.out_segs of either side".into()]);
    };
    let share = lost / sent;
    let text = format!("{} of {} segments were retransmitted ({})", figure(lost), figure(sent), percent(share));
    if share < LOST || lost < FRAMES_COUNT {
        return syns_lost(facts).unwrap_or(Verdict::RuledOut(text));
    }
    if let Some(why) = not_the_network(facts, view.trial, lost) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    if let Some(why) = none_of_ours(facts, &view) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    if let Some(full) = super::network_medium::overflow(view.trial) {
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
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Point, Who};

    fn verdict(completed_share: f64) -> Verdict {
        let planted_run = PlantedRun::new(3000.0, 2000.0).steps(&[]).rates(&[0.5]);
        let mut run = losing(planted_run).run();
        // Fills in the derived figures, which the rule needs.
        crate::judge(&mut run);
        run.trials.iter_mut().for_each(|t| t.rates.completed_rate = t.rates.offered_rate * completed_share);
        judge(&Facts::of(&run))
    }

    /// Adds retransmissions to a run, seven per hundred requests, on the host and on the load's own connections. A
    /// policer drops the segments at all rates of at least half of the highest rate.
    fn losing(planted_run: PlantedRun) -> PlantedRun {
        losing_from(planted_run, 0.5)
    }

    /// Adds the retransmissions of [`losing`] to a run. The policer drops segments at all rates of at least the share
    /// `from` of the highest rate.
    fn losing_from(planted_run: PlantedRun, from: f64) -> PlantedRun {
        let dropped = move |p: &Point| if p.x >= from * p.capacity { p.x * 0.07 } else { 0.0 };
        planted_run.per_s(Who::Server, "tcp.retrans_segs", "", dropped).per_s(
            Who::Server,
            "connection.retrans",
            "",
            move |p| 2.0 * dropped(p) / p.n,
        )
    }

    /// An asynchronous server has eight connections to a database. Clients reach the server over Wi-Fi, which loses as
    /// many segments with one client as with 128.
    #[test]
    fn losses_that_do_not_grow_with_the_load_do_not_limit_the_rate() {
        let pool = |from: f64| losing_from(PlantedRun::new(4000.0, 2000.0), from).verdict();
        let (wireless, policer) = (pool(0.0), pool(0.6));
        assert_ne!(wireless.id, "network-loss", "{wireless:#?}");
        let why = wireless.ruled_out.iter().find(|out| out.id == "network-loss").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("delays one connection")), "{why:?}");
        assert!(policer.id == "network-loss" && policer.confidence >= 0.8, "{policer:#?}");
        let grows = losing_from(PlantedRun::new(4000.0, 1e9).rates(&[]), 0.0).verdict();
        assert_eq!(grows.id, "network-loss", "losses slow down each connection: {grows:#?}");
    }

    /// The figures of this test were seen with `python3 -m http.server`. The full accept queue of this server drops
    /// connections that the client counts as established, so the client sends the requests of these connections again.
    #[test]
    fn drops_of_a_full_accept_queue_are_no_loss_in_the_network() {
        let full = || {
            PlantedRun::new(3000.0, 2000.0)
                .shared()
                .per_s(Who::Client, "tcp.retrans_segs", "", |p| p.x * 0.9)
                .per_s(Who::Client, "tcp.syn_retrans", "", |p| p.x * 0.1)
                .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
                .per_s(Who::Server, "listen.drops", "127.0.0.1:8080", |p| p.x * 0.9)
                .per_s(Who::Server, "tcp.listen_overflows", "", |p| p.x * 0.9)
                .per_s(Who::Server, "tcp.listen_drops", "", |p| p.x * 0.9)
        };
        let b = full().verdict();
        assert_eq!(b.id, "accept-queue", "{b:#?}");
        assert!(
            b.ruled_out.iter().any(|r| r.id == "network-loss" && r.why.contains("accept queue dropped them")),
            "{b:#?}"
        );
    }

    #[test]
    fn loopback_loses_only_what_an_interface_dropped() {
        let again = || losing(PlantedRun::new(3000.0, 2000.0).shared());
        assert_ne!(again().verdict().id, "network-loss");
        let dropped = again().per_s(Who::Server, "qdisc.drops", "lo", |p| p.x * 0.07);
        assert_eq!(dropped.verdict().id, "network-loss");
    }

    #[test]
    fn syns_that_the_client_sent_again_count() {
        let limited = |overflows: f64| {
            PlantedRun::new(3000.0, 2000.0)
                .per_s(Who::Client, "tcp.retrans_segs", "", |_| 400.0)
                .per_s(Who::Client, "tcp.syn_retrans", "", |_| 400.0)
                .per_s(Who::Client, "tcp.active_opens", "", |_| 100.0)
                .per_s(Who::Server, "tcp.listen_overflows", "", move |_| overflows)
                .change(|t, _| t.connect_us.max = 1.1e6)
        };
        // A tenth of all segments was sent again, but no segment with data. Only SYNs are lost.
        let lost = limited(0.0).verdict();
        let on_loopback = limited(0.0).shared().verdict();
        assert_eq!(on_loopback.id, "network-loss", "a firewall drops SYNs there, too: {on_loopback:#?}");
        assert!(lost.id == "network-loss" && lost.sentence.contains("drops SYNs"), "{lost:#?}");
        assert_ne!(limited(400.0).verdict().id, "network-loss");
    }

    /// Answers take 3 ms without load. The packets that another program on the host loses are counted, and no counters
    /// of the load's own connections are known.
    #[test]
    fn answers_faster_than_the_retransmission_timer_lost_no_segment() {
        let longest = |us: f64| {
            PlantedRun::new(3000.0, 2000.0)
                .per_s(Who::Server, "tcp.retrans_segs", "", |p| if p.x >= 0.5 * p.capacity { p.x * 0.3 } else { 0.0 })
                .change(move |t, _| t.latency_us.max = us)
        };
        assert_ne!(longest(30_000.0).verdict().id, "network-loss");
        assert_eq!(longest(230_000.0).verdict().id, "network-loss");
    }

    /// The server's listener dropped connections before the window began. The client sent the requests of the dropped
    /// connections again inside the window.
    #[test]
    fn drops_of_the_own_listener_before_the_window_are_no_loss() {
        let planted = PlantedRun::new(3000.0, 2000.0)
            .per_s(Who::Server, "tcp.retrans_segs", "", |_| 11.0)
            .per_s(Who::Server, "tcp.out_segs", "", |_| 300.0)
            .per_s(Who::Server, "tcp.listen_overflows", "", |_| 6.0)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |_| 6.0)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", 5.0)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", 4.0)
            .change(|t, _| {
                // The counters of the listener's drops do not grow inside the window.
                t.measured.window.begin_s = 1.5;
                for column in t.server.iter_mut().flat_map(|side| &mut side.recording.columns) {
                    if ["tcp.listen_overflows", "listen.drops"].contains(&column.counter.as_str()) {
                        column.values[1..].iter_mut().for_each(|value| *value = Some(5012.0));
                    }
                }
            });
        let b = planted.verdict();
        assert_eq!(b.id, "accept-queue", "{b:#?}");
    }

    /// A server has four workers, and each request occupies one worker for 20 ms. A radio link in front of the server
    /// loses 3 % of the segments. A lost segment delays one request, so more connections would complete more requests.
    /// If the workers cannot send their answers, they read no further request, and the losses may cause the queue.
    #[test]
    fn requests_that_wait_unread_at_the_server_passed_the_network() {
        let behind_losses = |unsent: f64| {
            losing_from(PlantedRun::new(20_000.0, 200.0), 0.0)
                .level(Who::Server, "connection.receive_queue", "", 60.0)
                .per_s(Who::Server, "connection.waiting", "", move |p| unsent * p.n.min(4.0))
                .change(|t, _| t.measured.tally.bytes_sent = 64 * t.measured.tally.sent)
                .verdict()
        };
        let workers = behind_losses(0.0);
        assert_eq!(workers.id, "server-concurrency", "{workers:#?}");
        let why = workers.ruled_out.iter().find(|out| out.id == "network-loss").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("had passed the network")), "{why:?}");
        assert_eq!(behind_losses(1.0).id, "network-loss");
    }

    #[test]
    fn losses_that_cost_no_request_stop_nothing() {
        assert!(matches!(verdict(1.0), Verdict::RuledOut(_)), "{:?}", verdict(1.0));
        assert!(matches!(verdict(0.8), Verdict::Binds { .. }), "{:?}", verdict(0.8));
    }
}
