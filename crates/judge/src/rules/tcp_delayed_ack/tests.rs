//! Tests of the rule `tcp-delayed-ack`.

use crate::planted::{PlantedRun, Point, Who};
use run::{Bottleneck, ThreadState, Trial, WaitGroup, WaitProfile};

/// The figures of this test were seen with the JDK's HTTP server. An answer takes 40 ms at light load, and the limit is
/// a lock that each request holds for 2 ms. If `wait_goes_away` is true, there is no wait of 40 ms under a heavier
/// load.
fn lock(wait_goes_away: bool) -> Bottleneck {
    let change = move |t: &mut Trial, p: &Point| {
        if wait_goes_away && p.n > 2.0 {
            (t.latency_us.p50, t.latency_us.mean) = (p.n * 2000.0, p.n * 2000.0);
        }
    };
    let mut run = PlantedRun::new(41_000.0, 500.0)
        .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
        .nagle(1400.0)
        .level(Who::Server, "connection.receive_queue", "", 60.0)
        .change(change)
        .run();
    crate::judge(&mut run);
    run.findings.bottleneck
}

#[test]
fn a_timer_limits_no_rate_that_stopped_growing() {
    for wait_goes_away in [true, false] {
        let b = lock(wait_goes_away);
        assert_ne!(b.id, "tcp-delayed-ack", "{b:#?}");
        let out = b.ruled_out.iter().find(|out| out.id == "tcp-delayed-ack").map(|out| out.why.as_str());
        assert!(out.is_some_and(|why| why.contains("the timer limits no rate")), "{b:#?}");
        assert!(!b.sentence.contains("at a time"), "the timer is no service time: {b:#?}");
    }
}

/// The figures of this test were seen with Python's `http.server` and a handler that sleeps for 20 ms. Head and body of
/// an answer are two writes, and the body waits for the acknowledgement of the head.
#[test]
fn a_wait_in_the_middle_of_longer_answers_is_advice_beside_any_verdict() {
    let mut run = PlantedRun::new(64_000.0, 200.0)
        .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
        .nagle(1400.0)
        .change(|trial, _| trial.transfer_us.p50 = 43_400.0)
        .run();
    crate::judge(&mut run);
    let b = run.findings.bottleneck;
    assert_ne!(b.id, "tcp-delayed-ack");
    assert!(b.advice.iter().any(|advice| advice.contains("would come 43.4 ms sooner")), "{b:#?}");
    let out = b.ruled_out.iter().find(|out| out.id == "tcp-delayed-ack").map(|out| out.why.as_str());
    assert!(out.is_some_and(|why| why.contains("waits 43.4 ms for a delayed acknowledgement, but")), "{b:#?}");
}

/// This case was observed on loopback. A round trip of 19 ms was measured, and the minimum was 6 µs. Nagle's algorithm
/// kept data in the send queues.
#[test]
fn data_that_waits_for_a_delayed_ack_waits_on_no_link() {
    let mut run = PlantedRun::new(41_000.0, 500.0)
        .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
        .nagle(1400.0)
        .level(Who::Server, "connection.rtt", "", 19_000.0)
        .level(Who::Server, "connection.min_rtt", "", 6.0)
        .level(Who::Server, "connection.sampled", "", 8.0)
        .level(Who::Server, "connection.waiting", "", 7.2)
        .run();
    crate::judge(&mut run);
    assert_ne!(run.findings.bottleneck.id, "network-medium", "{:#?}", run.findings.bottleneck);
}

/// Answers of a server 40 ms away take as long as the delayed-acknowledgement timer. Only other programs on the
/// host delay acknowledgements.
#[test]
fn a_distance_of_40_ms_is_no_timer() {
    let planted = |min_rtt_us: f64| {
        let mut run = PlantedRun::new(41_000.0, 1e6)
            .steps(&[1, 2, 4])
            .rates(&[])
            .per_s(Who::Client, "tcp.delayed_acks", "", |p| 26.0 * p.x)
            .nagle(43.0)
            .level(Who::Server, "connection.min_rtt", "", min_rtt_us)
            .level(Who::Client, "connection.min_rtt", "", min_rtt_us)
            .change(move |t, _| t.connect_us.p50 = min_rtt_us)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck.id
    };
    assert_eq!(planted(30.0), "tcp-delayed-ack");
    assert_ne!(planted(40_000.0), "tcp-delayed-ack");
}

/// This test repeats a situation that was observed with a server that sleeps 1 ms after each of the 42 bytes of an
/// answer. With `TCP_NODELAY`, the server's answers take just as long, so Nagle's algorithm is not the cause.
#[test]
fn a_server_that_sleeps_between_its_writes_is_only_a_guess() {
    let planted = |sleepers_per_request: f64| {
        let group = move |threads| WaitGroup { state: ThreadState::Sleep, threads, ..WaitGroup::default() };
        let mut run = PlantedRun::new(41_000.0, 1e6)
            .steps(&[1, 2, 4])
            .rates(&[])
            .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
            .nagle(16.0)
            .change(move |t, p| {
                let groups = vec![group(sleepers_per_request * p.n)];
                let profile = WaitProfile { rounds: 50, groups, ..WaitProfile::default() };
                t.server.iter_mut().for_each(|side| side.waits = Some(Box::new(profile.clone())));
            })
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let (waits, sleeps) = (planted(0.25), planted(1.1));
    assert!(waits.id == "tcp-delayed-ack" && waits.confidence >= 0.8, "{waits:#?}");
    assert!(sleeps.id != "tcp-delayed-ack" || sleeps.confidence < 0.5, "{sleeps:#?}");
}

/// Makes a single load of nine connections on loopback. Each request takes 44 ms, and `unread` bytes wait in each
/// receive queue of the server. Requests have 100 bytes and answers 1,000.
fn nine_connections(unread: f64, unacknowledged: f64) -> PlantedRun {
    let sizes = |t: &mut Trial, _: &Point| {
        t.kind = run::TrialKind::Fixed;
        let tally = &mut t.measured.tally;
        (tally.bytes_sent, tally.bytes_received) = (100 * tally.sent, 1000 * tally.completed);
    };
    PlantedRun::new(44_000.0, 1e9)
        .shared()
        .steps(&[9])
        .rates(&[])
        .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
        .per_s(Who::Server, "tcp.delayed_acks", "", |p| p.x)
        .level(Who::Server, "connection.receive_queue", "", unread)
        .nagle(unacknowledged)
        .change(sizes)
}

/// As with an event loop that calls a database, the server blocks for 5 ms per request. Each request waits 40 ms
/// unread, so the server's kernel acknowledges it by the timer. By Little's law, each send queue contains 1.4 bytes of
/// answers on their way.
#[test]
fn requests_that_wait_for_an_event_loop_do_not_wait_for_the_timer() {
    for (unread, unacknowledged) in [(89.0, 1.4), (89.0, 900.0), (0.0, 3.0)] {
        let b = nine_connections(unread, unacknowledged).verdict();
        assert_ne!(b.id, "tcp-delayed-ack", "{unread} {unacknowledged}: {b:#?}");
    }
    let waits = nine_connections(0.0, 900.0).verdict();
    assert!(waits.id == "tcp-delayed-ack" && waits.confidence >= 0.9, "{waits:#?}");
}

/// The server calls another service for 41 ms per request. The server's kernel delays acknowledgements of this
/// service or of another program. The client, which is on another host, delays no acknowledgements.
#[test]
fn only_the_client_s_kernel_delays_acknowledgements_of_answers() {
    let delays = |who: Who| {
        PlantedRun::new(41_000.0, 1e9).rates(&[]).per_s(who, "tcp.delayed_acks", "", |p| p.x).nagle(1400.0).verdict()
    };
    let (of_server, of_client) = (delays(Who::Server), delays(Who::Client));
    assert_ne!(of_server.id, "tcp-delayed-ack", "{of_server:#?}");
    assert_eq!(of_client.id, "tcp-delayed-ack", "{of_client:#?}");
}

/// A Go program flushes the header of its answer, and works for 45 ms before it sends the body. The client
/// acknowledges the header by the timer, but the server waits for no acknowledgement.
#[test]
fn a_header_that_was_sent_early_waits_for_no_acknowledgement() {
    let early = PlantedRun::new(45_000.0, 1e9)
        .rates(&[])
        .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
        .nagle(130.0)
        .level(Who::Server, "connection.waiting", "", 0.0)
        .verdict();
    let why = early.ruled_out.iter().find(|out| out.id == "tcp-delayed-ack").map(|out| out.why.as_str());
    assert!(why.is_some_and(|why| why.contains("had sent the bytes")), "{early:#?}");
}

#[test]
fn a_wait_that_goes_away_under_load_is_no_limit_there() {
    let change = |t: &mut Trial, p: &Point| t.latency_us.p50 = if p.n > 2.0 { 3000.0 } else { 40_500.0 };
    let mut run = PlantedRun::new(41_000.0, 40_000.0)
        .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
        .nagle(1400.0)
        .rates(&[])
        .change(change)
        .run();
    crate::judge(&mut run);
    assert_ne!(run.findings.bottleneck.id, "tcp-delayed-ack", "{:#?}", run.findings.bottleneck);
}
