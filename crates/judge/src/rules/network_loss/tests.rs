//! Tests of the rule `network-loss`.

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

/// Adds retransmissions to a run, seven per hundred requests, on the host and on the load's own connections. A policer
/// (which drops segments above a rate) acts at all rates of at least half of the highest rate.
fn losing(planted_run: PlantedRun) -> PlantedRun {
    losing_from(planted_run, 0.5)
}

/// Adds the retransmissions of [`losing`] to a run. A policer (which drops segments above a rate) acts at all rates of
/// at least the share `from` of the highest rate.
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

/// The figures of this test were seen with `python3 -m http.server`. The full accept queue drops connections that the
/// client counts as established, so the client sends their requests again.
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
    // A tenth of all segments was sent again, but only SYNs, and no segment with data.
    let lost = limited(0.0).verdict();
    let on_loopback = limited(0.0).shared().verdict();
    assert_eq!(on_loopback.id, "network-loss", "a firewall drops SYNs there, too: {on_loopback:#?}");
    assert!(lost.id == "network-loss" && lost.sentence.contains("drops SYNs"), "{lost:#?}");
    assert_ne!(limited(400.0).verdict().id, "network-loss");
}

/// Answers take 3 ms without load. Packets that another program on the host loses are counted, but no counters of the
/// load's own connections are known.
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

/// A server has four workers, and each request occupies one worker for 20 ms. A radio link in front of the server loses
/// 3 % of the segments. A lost segment delays one request, so more connections would complete more requests. If workers
/// cannot send their answers, they read no further request, so losses may cause the queue.
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
