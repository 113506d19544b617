//! Tests of verdicts on runs over HTTP/3, whose losses and round trips only the generator knows.

use run::{Bottleneck, HttpPlan, Protocol, QuicPaths};

use crate::planted::{PlantedRun, Point, Who};

/// Counters of the kernel that do not exist for QUIC.
const OF_TCP: [&str; 12] = [
    "connection.rtt",
    "connection.min_rtt",
    "connection.peer_window",
    "connection.receive_queue",
    "connection.delivery_rate",
    "connection.sampled",
    "connection.waiting",
    "connection.write_full",
    "connection.rwnd_limited",
    "connection.sndbuf_limited",
    "listen.queue",
    "listen.limit",
];
const LEAST_RTT_US: f64 = 300.0;

/// Figures of the connections of one load.
#[derive(Clone, Copy)]
struct Path {
    /// Lost share of the generator's packets.
    lost: f64,
    rtt_us: f64,
}

const CLEAR: Path = Path { lost: 0.0, rtt_us: 1.2 * LEAST_RTT_US };

/// Makes the load of a run one over HTTP/3, with one packet for each request. `path` returns the figures of the load's
/// connections.
fn over_quic(planted: PlantedRun, path: impl Fn(&Point) -> Path + 'static) -> PlantedRun {
    let planted = OF_TCP.into_iter().fold(planted, |run, id| run.none(Who::Client, id).none(Who::Server, id));
    let figures = move |t: &mut run::Trial, p: &Point| {
        let (Path { lost, rtt_us }, packets) = (path(p), t.tally.completed);
        t.quic = Some(QuicPaths {
            connections: p.n as u64,
            rtt_us,
            min_rtt_us: LEAST_RTT_US,
            congestion_window_bytes: 14_520.0,
            sent_packets: packets,
            lost_packets: (lost * packets as f64) as u64,
            ..QuicPaths::default()
        });
    };
    planted.plan(|plan| plan.load.protocol = Protocol::Http3(HttpPlan::default())).change(figures)
}

/// Makes a run whose generator loses 4 % of its packets at high rates: at the share `from` of the capacity and above.
fn losing(planted: PlantedRun, from: f64) -> PlantedRun {
    over_quic(planted, move |p| Path { lost: if p.x >= from * p.capacity { 0.04 } else { 0.0 }, ..CLEAR })
}

fn why_not(verdict: &Bottleneck, id: &str) -> String {
    verdict.ruled_out.iter().find(|out| out.id == id).map(|out| out.why.clone()).unwrap_or_default()
}

#[test]
fn packets_that_the_generator_loses_under_load_are_losses_of_the_network() {
    let lossy = losing(PlantedRun::new(3000.0, 2000.0), 0.5).verdict();
    assert!(lossy.id == "network-loss" && lossy.confidence >= 0.8, "{lossy:#?}");
    assert!(lossy.sentence.contains("4 % of the generator's QUIC packets"), "{}", lossy.sentence);
    let has = |words: &str| lossy.evidence.iter().any(|line| line.text.contains(words));
    assert!(has("congestion window was 14,520 B") && has("took 360 µs (least 300 µs)"), "{:#?}", lossy.evidence);
}

#[test]
fn losses_that_are_as_frequent_without_load_do_not_limit_the_rate() {
    let wireless = losing(PlantedRun::new(4000.0, 2000.0), 0.0).verdict();
    let why = why_not(&wireless, "network-loss");
    assert!(wireless.id != "network-loss" && why.contains("delays one connection"), "{wireless:#?}");
}

/// The segments of TCP belong to other programs, which have many losses.
#[test]
fn segments_of_other_programs_are_no_losses_of_this_load() {
    let others = |planted: PlantedRun| {
        planted
            .per_s(Who::Server, "tcp.retrans_segs", "", |p| if p.x >= 0.5 * p.capacity { p.x * 0.3 } else { 0.0 })
            .per_s(Who::Client, "tcp.syn_retrans", "", |_| 400.0)
            .change(|t, _| (t.latency_us.max, t.connect_us.max) = (1.1e6, 1.1e6))
    };
    let over_tcp = others(PlantedRun::new(3000.0, 2000.0)).verdict();
    assert_eq!(over_tcp.id, "network-loss", "the same figures are losses over TCP: {over_tcp:#?}");
    let quic = over_quic(others(PlantedRun::new(3000.0, 2000.0)), |_| CLEAR).verdict();
    assert!(why_not(&quic, "network-loss").contains("0 of"), "{quic:#?}");
}

/// A server that reads its socket too slowly loses datagrams that had passed the network.
#[test]
fn datagrams_that_a_full_receive_buffer_drops_had_passed_the_network() {
    let full = losing(PlantedRun::new(3000.0, 2000.0), 0.5).per_s(Who::Server, "udp.rcvbuf_errors", "", |p| p.x * 0.01);
    let verdict = full.verdict();
    let why = why_not(&verdict, "network-loss");
    assert!(verdict.id != "network-loss" && why.contains("full receive buffers"), "{verdict:#?}");
}

#[test]
fn loopback_loses_only_what_an_interface_dropped() {
    let on_loopback = || losing(PlantedRun::new(3000.0, 2000.0).shared(), 0.5);
    assert_ne!(on_loopback().verdict().id, "network-loss");
    let dropped = on_loopback().per_s(Who::Server, "qdisc.drops", "lo", |p| p.x * 0.04);
    assert_eq!(dropped.verdict().id, "network-loss");
}

/// A server handles six requests at a time. Packets are acknowledged by the server, so a long round trip tells nothing.
#[test]
fn short_round_trips_show_that_requests_wait_in_the_server() {
    let workers = |rtt_us: fn(&Point) -> f64| {
        over_quic(PlantedRun::new(20_000.0, 300.0), move |p| Path { lost: 0.0, rtt_us: rtt_us(p) }).verdict()
    };
    let short = workers(|_| 400.0);
    assert_eq!(short.id, "server-concurrency", "{short:#?}");
    assert!(short.evidence.iter().any(|line| line.text.contains("the rest is spent in the server")), "{short:#?}");
    let long = workers(|p| 0.9 * p.r_us);
    assert_ne!(long.id, "server-concurrency", "{long:#?}");
    assert!(long.missing.iter().any(|line| line.contains("in the server's socket")), "{:?}", long.missing);
}

/// The speed of the link is not known, so only the round trips can tell whether its queue is empty.
#[test]
fn short_round_trips_rule_out_a_queue_on_the_way() {
    let link = |rtt_us: fn(&Point) -> f64| {
        let planted = [Who::Client, Who::Server]
            .into_iter()
            .fold(PlantedRun::new(20_000.0, 300.0), |run, who| run.none(who, "interface.speed"));
        over_quic(planted, move |p| Path { lost: 0.0, rtt_us: rtt_us(p) }).verdict()
    };
    let why = why_not(&link(|_| 400.0), "network-medium");
    assert!(why.contains("no packets queue"), "{why}");
    assert_eq!(why_not(&link(|p| 0.9 * p.r_us), "network-medium"), "");
}

/// Caddy also listens on TCP, and its listener drops connects of other clients.
#[test]
fn a_full_accept_queue_is_no_limit_of_http3() {
    let caddy = || {
        PlantedRun::new(3000.0, 2000.0)
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |p| p.x * 0.9)
            .per_s(Who::Server, "tcp.listen_overflows", "", |p| p.x * 0.9)
            .per_s(Who::Server, "tcp.listen_drops", "", |p| p.x * 0.9)
    };
    assert_eq!(caddy().verdict().id, "accept-queue");
    let verdict = over_quic(caddy(), |_| CLEAR).verdict();
    assert!(why_not(&verdict, "accept-queue").contains("over UDP"), "{verdict:#?}");
    for id in ["tcp-window", "tcp-delayed-ack"] {
        assert!(why_not(&verdict, id).contains("QUIC"), "{id}: {verdict:#?}");
    }
}
