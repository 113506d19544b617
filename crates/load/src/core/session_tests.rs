//! Tests of the connection engine with a protocol that has a handshake and pings, answers in any order, and single
//! requests that fail.

use run::{ErrorKind, Intensity, Phase, Summary, ThinkTime};

use super::State;
use super::test_protocol::TestProtocol;
use super::test_wire::Fixture;
use crate::driver::{Completion, Ops};

#[test]
fn a_handshake_precedes_the_first_request_and_does_not_count_as_one() {
    let mut fixture = Fixture::new(1, 0.0, &[1.0]);
    assert_eq!((fixture.sent(), fixture.core.in_flight), (vec![b"H".to_vec()], 0));
    fixture.at_ms(7);
    fixture.hear(b"h");
    assert_eq!(fixture.sent(), [b"F".to_vec(), b"R\0\0".to_vec()]);
    fixture.at_ms(10);
    fixture.hear(b"A\0");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.connected, t.handshakes, t.sent, t.completed), (1, 1, 2, 1));
    assert_eq!((t.handshake_bytes_sent, t.handshake_bytes_received), (2, 1));
    assert_eq!((t.bytes_sent, t.bytes_received), (2 + 3 + 3, 1 + 2));
    assert_eq!((part.histograms["handshake"].len(), part.histograms["response"].len()), (1, 1));
    assert!((part.histograms["handshake"].mean_us() / 7000.0 - 1.0).abs() < 0.01);
    assert!((part.histograms["response"].mean_us() / 3000.0 - 1.0).abs() < 0.01);
}

#[test]
fn a_handshake_that_fails_is_a_failed_connect_and_is_tried_again() {
    for spoil in [
        |b: &mut Fixture| b.hear(b"?"),
        |b: &mut Fixture| b.hear(b"C"),
        |b: &mut Fixture| b.core.on(&mut b.wire, Completion::PeerClosed { conn: 0 }),
        |b: &mut Fixture| b.at_ms(60_000),
    ] {
        let mut fixture = Fixture::new(1, 0.0, &[1.0]);
        spoil(&mut fixture);
        assert_eq!((fixture.core.open, fixture.core.conns[0].state), (0, State::Waiting));
        fixture.at_ms(70_000);
        assert_eq!(fixture.wire.connects, 2);
        let total = fixture.part().total;
        let kinds = [ErrorKind::HandshakeFailed, ErrorKind::ConnectTimeout];
        let failed: u64 = kinds.iter().filter_map(|kind| total.errors.0.get(kind)).sum();
        assert_eq!((failed, total.error_count(), total.sent, total.handshakes), (1, 1, 0, 0));
    }
}

#[test]
fn a_failing_connection_announces_its_reason_although_a_request_is_in_flight() {
    for acked in [false, true] {
        let mut fixture = Fixture::ready(1, 1000.0, &[1.0]);
        fixture.hear(b"A\0");
        fixture.wire.acked = acked;
        fixture.at_ms(60_000);
        fixture.hear(b"E");
        let sent = fixture.sent();
        assert_eq!((sent.last().unwrap().as_slice(), fixture.wire.closes), (&b"e"[..], 1), "{acked}: {sent:?}");
    }
}

#[test]
fn a_close_is_answered_although_a_request_is_on_its_way() {
    // If `ends` is false, a request gets no answer. If `ends` is true, no request is in flight, and the server closes
    // the connection at once.
    for (heard, ends) in [(&b"C"[..], false), (b"A\0C", true)] {
        let mut fixture = Fixture::ready(1, 1000.0, &[1.0]);
        fixture.hear(b"A\0");
        fixture.wire.acked = true;
        fixture.at_ms(60_000);
        fixture.hear(heard);
        if ends {
            fixture.core.on(&mut fixture.wire, Completion::PeerClosed { conn: 0 });
        }
        let sent = fixture.sent();
        assert_eq!((sent.last().unwrap().as_slice(), fixture.wire.closes), (&b"c"[..], 1), "{ends}: {sent:?}");
    }
}

#[test]
fn answers_may_come_in_any_order() {
    let mut fixture = Fixture::ready(3, 1000.0, &[1.0]);
    fixture.at_ms(1);
    fixture.hear(b"A\x02");
    fixture.at_ms(5);
    fixture.hear(b"A\x00A\x01");
    let part = fixture.part();
    assert_eq!((part.total.sent, part.total.completed, part.total.unanswered), (3, 3, 0));
    let times = Summary::of(&part.histograms["response"]);
    assert!((times.min / 1000.0 - 1.0).abs() < 0.01 && (times.max / 5000.0 - 1.0).abs() < 0.01, "{times:?}");
}

#[test]
fn a_slow_request_holds_up_no_other() {
    let mut fixture = Fixture::ready(2, 0.0, &[1.0]);
    fixture.sent();
    for _ in 0..100 {
        fixture.hear(b"A\x01");
        assert_eq!(fixture.sent(), [b"R\x01\0".to_vec()], "the name is free again at once");
    }
    fixture.at_ms(50);
    fixture.hear(b"A\x00");
    let part = fixture.part();
    assert_eq!((part.total.completed, part.total.unanswered), (101, 2));
    assert!((Summary::of(&part.histograms["response"]).max / 50_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn one_request_may_fail_alone_and_a_strange_name_is_nothing() {
    let mut fixture = Fixture::ready(2, 1000.0, &[1.0]);
    fixture.hear(b"A\x07X\x01A\x01A\x00");
    let total = fixture.part().total;
    assert_eq!((total.completed, total.unanswered), (1, 0));
    assert_eq!(total.errors.0, [(ErrorKind::ShortResponse, 1)].into());
}

/// Lets the server answer one of three requests, leave the other two unprocessed, and end the connection. Returns the
/// fixture once the next connection is ready for requests.
fn left(drains: bool) -> Fixture {
    let mut fixture = Fixture::ready(3, 0.0, &[1.0]);
    assert_eq!(fixture.sent(), [b"R\0\0R\x01\0R\x02\0".to_vec()]);
    fixture.at_ms(10);
    fixture.hear(b"U\x01U\x02");
    assert!(fixture.sent().is_empty() && fixture.core.in_flight == 1);
    if drains {
        fixture.core.enter(&mut fixture.wire, Phase::Drain, 0);
    }
    fixture.hear(b"A\0C");
    assert_eq!(fixture.sent(), [b"c".to_vec()]);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (2, 0), "no wait for the FIN");
    assert!(fixture.wire.current != 0 && !fixture.core.drained(fixture.wire.now_ns));
    fixture.closed(0);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (2, 1));
    fixture.up();
    fixture.hear(b"h");
    assert_eq!(fixture.wire.writes.drain(..2).collect::<Vec<_>>(), [b"H", b"F"]);
    fixture
}

#[test]
fn requests_left_by_a_server_are_sent_again_and_count_once() {
    let mut fixture = left(false);
    assert_eq!(fixture.sent(), [b"R\0\0R\x01\0R\x02\0".to_vec()], "two again, and a new one");
    fixture.at_ms(30);
    fixture.hear(b"A\0A\x01");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.unprocessed, t.completed, t.sent, t.due, t.unanswered), (2, 3, 6, 6, 3));
    assert_eq!((t.error_count(), t.attempted), (0, 2));
    let times = Summary::of(&part.histograms["response"]);
    assert!((times.max / 30_000.0 - 1.0).abs() < 0.01, "from the intended start: {times:?}");
}

#[test]
fn the_drain_repeats_unprocessed_requests_and_sends_no_others() {
    let mut fixture = left(true);
    assert_eq!(fixture.sent(), [b"R\0\0R\x01\0".to_vec()]);
    fixture.hear(b"A\0A\x01");
    assert!(fixture.core.drained(fixture.wire.now_ns) && fixture.sent().is_empty());
    let t = fixture.part().total;
    assert_eq!((t.unprocessed, t.completed, t.sent, t.unanswered), (2, 3, 3, 0));
}

/// A thread that gets no CPU enters a new phase late. Events that the thread handles after the phase has started, but
/// before the thread enters the phase, belong to the new phase.
#[test]
fn entering_a_phase_does_not_move_its_recorded_edge() {
    let mut fixture = Fixture::ready(1, 0.0, &[1.0]);
    fixture.at_ms(10);
    let now = fixture.wire.now();
    fixture.core.edge(Phase::Drain, now, now);
    fixture.at_ms(12);
    fixture.hear(b"A\0");
    fixture.core.enter(&mut fixture.wire, Phase::Drain, now);
    let part = fixture.part();
    assert_eq!((part.measured.completed, part.total.completed), (0, 1));
    assert_eq!((part.measured_at_s + part.measured_s) * 1e9, now as f64, "the window ended before");
}

#[test]
fn control_bytes_are_sent_even_without_requests() {
    let mut fixture = Fixture::ready(1, 1000.0, &[1.0]);
    fixture.sent();
    fixture.hear(b"P");
    assert_eq!(fixture.sent(), [b"p".to_vec()], "a request is under way");
    fixture.hear(b"A\0");
    fixture.hear(b"PP");
    assert_eq!((fixture.sent(), fixture.core.conns[0].state), (vec![b"pp".to_vec()], State::Thinking));
    fixture.core.enter(&mut fixture.wire, Phase::Drain, 0);
    fixture.hear(b"P");
    assert_eq!(fixture.sent(), [b"p".to_vec()], "the drain is no silence");
    let total = fixture.part().total;
    assert_eq!((total.sent, total.completed), (1, 1));
}

#[test]
fn classes_are_drawn_told_and_counted_apart() {
    let mut fixture = Fixture::ready(8, 0.0, &[1.0, 3.0]);
    let mut asked = [0_u64; 2];
    for _ in 0..500 {
        for request in fixture.sent().concat().chunks(3).filter(|r| r[0] == b'R') {
            asked[usize::from(request[2])] += 1;
            fixture.hear(&[if request[2] == 1 { b'A' } else { b'X' }, request[1]]);
        }
    }
    fixture.hear(b"?");
    let part = fixture.part();
    let class_counts = |i: usize| part.classes[i].total;
    assert_eq!(part.classes.len(), 2);
    assert!(asked[0] > 500 && (2.6..3.4).contains(&(asked[1] as f64 / asked[0] as f64)), "{asked:?}");
    assert_eq!(class_counts(0).begun + class_counts(1).begun, asked[0] + asked[1] + 8);
    assert_eq!((class_counts(0).completed, class_counts(1).completed), (0, asked[1]));
    assert_eq!(
        class_counts(0).failed + class_counts(1).failed,
        asked[0] + 8,
        "those that failed alone, and those lost with the connection"
    );
    assert_eq!((part.total.completed, part.classes[1].response.len()), (asked[1], asked[1]));
    assert!(Fixture::ready(1, 0.0, &[1.0]).part().classes.is_empty());
}

/// A request is due each millisecond, but the generator wakes up only after 6 ms. If several requests were due, an
/// earlier version of loadline sent each of them in a write of its own. An open loop of the earlier version therefore
/// never put as much load on the server as a closed loop with the same pipeline.
#[test]
fn requests_of_an_open_loop_that_are_due_together_leave_together() {
    let (rate, arrival) = (1000.0, run::Arrival::Constant);
    let open = run::Intensity::Open { rate, arrival, max_connections: 2, pipeline: 4 };
    let mut fixture = Fixture::with(open, &[1.0]);
    fixture.at_ms(1);
    fixture.up();
    fixture.hear(b"h");
    let first = fixture.sent();
    (0..fixture.core.in_flight as u8).for_each(|id| fixture.hear(&[b'A', id]));
    assert_eq!(fixture.core.in_flight, 0, "{first:?}");
    fixture.sent();
    fixture.at_ms(7);
    let sent = fixture.sent();
    let requests = |bytes: &&Vec<u8>| bytes.iter().filter(|byte| **byte == b'R').count();
    assert_eq!(sent.first().as_ref().map(requests), Some(4), "{sent:?}");
}

#[test]
fn a_request_without_an_answer_takes_the_time_of_its_send() {
    let think = ThinkTime { mean_ms: 1.0, exponential: false };
    let intensity = Intensity::Closed { connections: 1, pipeline: 1, think };
    let mut fixture = Fixture::speaking(intensity, &proto::discard::ClientPlan::new(100));
    fixture.wire.send_ns = 3000;
    fixture.up();
    (1..=9).for_each(|turn| fixture.at_ms(10 * turn));
    let part = fixture.part();
    let response = &part.histograms["response"];
    assert!(response.len() >= 9, "{}", response.len());
    assert!((response.mean_us() / 3.0 - 1.0).abs() < 0.01, "{}", response.mean_us());
}

/// Each answer moves the timer of its connection, so the timer does not notice a single request that gets no answer.
#[test]
fn an_answer_after_the_timeout_is_a_failure_although_others_came_in_time() {
    let intensity = Intensity::Closed { connections: 1, pipeline: 2, think: ThinkTime::default() };
    let client = TestProtocol { mix: proto::Mix::ONE.clone(), takes_early: false };
    let plan = run::LoadPlan { intensity, timeout_s: 1.0, ..run::LoadPlan::default() };
    let mut fixture = Fixture::loading(&plan, &client);
    fixture.up();
    fixture.hear(b"h");
    fixture.at_ms(600);
    fixture.hear(b"A\x01");
    fixture.at_ms(1200);
    fixture.hear(b"A\x01A\x00");
    assert_eq!((fixture.wire.closes, fixture.core.in_flight), (0, 2), "the connection goes on");
    let part = fixture.part();
    assert_eq!((part.total.completed, part.total.errors.0), (2, [(ErrorKind::ResponseTimeout, 1)].into()));
    let failed = Summary::of(&part.histograms["unanswered"]);
    assert!(failed.count == 1 && (failed.max / 1_200_000.0 - 1.0).abs() < 0.01, "{failed:?}");
    assert!(Summary::of(&part.histograms["response"]).max < 700_000.0);
}
