//! Tests of the connection engine with requests in early data.

use run::{ErrorKind, Intensity, LoadPlan, Phase, ThinkTime, TlsPlan};

use super::State;
use super::test_protocol::TestProtocol;
use super::test_wire::Fixture;
use crate::driver::{Completion, Op};

/// Starts a load with early data. All connects succeed at once.
fn loading(plan: LoadPlan, weights: &[f64]) -> Fixture {
    let tls = Some(TlsPlan { resume: 1.0, early_data: true, ..TlsPlan::default() });
    let mix = proto::Mix { weights: weights.to_vec().into(), ..proto::Mix::ONE.clone() };
    Fixture::loading(&LoadPlan { tls, ..plan }, &TestProtocol { mix, takes_early: true })
}

fn closed(pipeline: u32, think_ms: f64) -> LoadPlan {
    let think = ThinkTime { mean_ms: think_ms, exponential: false };
    LoadPlan { intensity: Intensity::Closed { connections: 1, pipeline, think }, ..LoadPlan::default() }
}

#[test]
fn requests_leave_with_the_handshake_and_their_time_includes_it() {
    let mut fixture = loading(closed(2, 0.0), &[1.0]);
    fixture.up();
    assert_eq!(fixture.sent(), [b"HR\0\0R\x01\0".to_vec()]);
    assert_eq!((fixture.core.in_flight, fixture.core.conns[0].state), (2, State::Handshaking));
    fixture.at_ms(5);
    fixture.hear_datagram(b"h");
    assert_eq!((fixture.sent(), fixture.core.conns[0].state), (vec![b"F".to_vec()], State::Busy));
    fixture.at_ms(8);
    fixture.hear_datagram(b"A\x01");
    assert_eq!(fixture.sent(), [b"R\x01\0".to_vec()], "a new request takes the place of the answered one");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.handshakes, t.handshakes_early, t.early_requests, t.early_resent), (1, 1, 2, 0));
    assert_eq!((t.due, t.sent, t.completed, t.unanswered, t.error_count()), (3, 3, 1, 2, 0));
    let ms = |name: &str| part.histograms[name].mean_us() / 1000.0;
    assert!((ms("handshake") / 5.0 - 1.0).abs() < 0.01 && (ms("response") / 8.0 - 1.0).abs() < 0.01);
}

/// An earlier version of loadline said "34 of 34 connects were established", although no server was there for 30.
#[test]
fn a_connection_over_udp_is_established_by_its_handshake() {
    let mut refused = loading(closed(1, 0.0), &[1.0]);
    refused.up();
    refused.core.on(&mut refused.wire, Completion::Failed { conn: 0, op: Op::Receive, errno: sys::Errno::CONNREFUSED });
    let t = refused.part().total;
    assert_eq!((t.attempted, t.connected, t.errors.count(ErrorKind::ConnectRefused)), (1, 0, 1));
    let mut established = loading(closed(1, 0.0), &[1.0]);
    established.up();
    established.hear_datagram(b"h");
    let t = established.part().total;
    assert_eq!((t.attempted, t.connected, t.handshakes), (1, 1, 1));
}

/// The answer may arrive together with the end of the handshake.
#[test]
fn answers_may_come_with_the_end_of_the_handshake() {
    for (think_ms, next) in [(0.0, &b"FR\0\0"[..]), (1000.0, b"F")] {
        let mut fixture = loading(closed(1, think_ms), &[1.0]);
        // With a think time, the first connect waits for a random part of the think time.
        fixture.at_ms(1000);
        fixture.up();
        fixture.sent();
        fixture.hear_datagram(b"hA\0");
        assert_eq!(fixture.sent().concat(), next, "{think_ms}");
        let state = if think_ms > 0.0 { State::Thinking } else { State::Busy };
        assert_eq!(fixture.core.conns[0].state, state);
        let t = fixture.part().total;
        assert_eq!((t.handshakes, t.early_requests, t.completed), (1, 1, 1));
    }
}

#[test]
fn rejected_requests_are_sent_again_by_the_session_and_count_once() {
    let mut fixture = loading(closed(2, 1000.0), &[1.0]);
    fixture.at_ms(1000);
    fixture.up();
    fixture.sent();
    fixture.at_ms(1010);
    fixture.hear_datagram(b"K");
    assert_eq!(fixture.sent(), [b"FR\0\0R\x01\0".to_vec()]);
    fixture.at_ms(1030);
    fixture.hear_datagram(b"A\0A\x01");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.handshakes, t.handshakes_early, t.early_requests, t.early_resent), (1, 0, 0, 2));
    assert_eq!((t.due, t.sent, t.completed, t.unanswered), (2, 2, 2, 0));
    assert!((part.histograms["response"].mean_us() / 30_000.0 - 1.0).abs() < 0.01, "from the first send");
}

/// Of two requests, only the first may be sent as early data.
#[test]
fn a_request_that_must_not_be_early_waits_and_keeps_its_turn() {
    let mut asked = [0_u32; 2];
    for seed in 0..200 {
        let mut fixture = loading(LoadPlan { seed, ..closed(4, 0.0) }, &[1.0, 1.0]);
        fixture.up();
        let early = fixture.sent().concat();
        assert!(early[1..].chunks(3).all(|request| request[2] == 0), "{early:?}");
        fixture.hear_datagram(b"h");
        let late = fixture.sent().concat();
        let all = early[1..].chunks(3).chain(late[1..].chunks(3));
        all.for_each(|request| asked[usize::from(request[2])] += 1);
        assert_eq!(early.len() + late.len(), 2 + 4 * 3);
        assert!(early.len() == 13 || late[3] == 1, "the request that had to wait is the first one of the rest");
    }
    assert!(asked[0].abs_diff(asked[1]) < 100, "early data does not change the mix: {asked:?}");
}

#[test]
fn a_failed_handshake_sends_early_requests_again_on_another_connection() {
    let mut fixture = loading(closed(2, 0.0), &[1.0]);
    fixture.up();
    fixture.sent();
    fixture.at_ms(10);
    fixture.hear_datagram(b"?");
    assert_eq!((fixture.core.in_flight, fixture.core.conns[0].state), (0, State::Waiting));
    fixture.sent();
    fixture.at_ms(20);
    fixture.up();
    assert_eq!(fixture.sent().concat(), b"HR\0\0R\x01\0");
    fixture.at_ms(30);
    fixture.hear_datagram(b"hA\0A\x01");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.attempted, t.handshakes, t.early_requests), (2, 1, 2));
    assert_eq!(t.errors.0, [(ErrorKind::HandshakeFailed, 1)].into());
    assert_eq!((t.due, t.sent, t.completed), (4, 4, 2), "two further requests have begun");
    let response = &part.histograms["response"];
    assert!((response.min_us() / 30_000.0 - 1.0).abs() < 0.01, "from the intended start: {} us", response.min_us());
}

#[test]
fn with_a_connection_for_each_request_a_failed_handshake_fails_it() {
    let plan = LoadPlan { new_connections: true, ..closed(1, 0.0) };
    let mut fixture = loading(plan, &[1.0]);
    fixture.up();
    assert_eq!(fixture.sent().concat(), b"HR\0\0");
    fixture.hear_datagram(b"?");
    fixture.at_ms(10);
    fixture.up();
    fixture.sent();
    fixture.hear_datagram(b"hA\0");
    assert_eq!(fixture.wire.connects, 3, "an answered request ends its connection");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.due, t.sent, t.completed, t.handshakes, t.early_requests), (2, 2, 1, 1, 1));
    assert_eq!(t.errors.0, [(ErrorKind::HandshakeFailed, 1)].into());
    assert_eq!((part.histograms["unanswered"].len(), part.histograms["response"].len()), (1, 1));
}

#[test]
fn an_open_loop_sends_due_requests_as_early_data() {
    let arrival = run::Arrival::Constant;
    let intensity = Intensity::Open { rate: 1000.0, arrival, max_connections: 4, pipeline: 1 };
    let mut fixture = loading(LoadPlan { intensity, ..LoadPlan::default() }, &[1.0]);
    fixture.at_ms(1);
    let connects = fixture.wire.connects;
    fixture.up();
    assert_eq!(fixture.sent().concat(), b"HR\0\0");
    // The next request does not wait for the handshake of this connection, because the connection cannot take another
    // request.
    fixture.at_ms(2);
    assert_eq!(fixture.wire.connects, connects + 1);
    fixture.up();
    assert_eq!(fixture.sent().concat(), b"HR\0\0");
    fixture.hear_datagram(b"h");
    assert_eq!(fixture.sent().concat(), b"F");
    fixture.hear_datagram(b"A\0");
    let t = fixture.part().total;
    assert_eq!((t.completed, t.early_requests, t.handshakes, t.error_count()), (1, 1, 1, 0));
    assert!(t.sent >= 2 && t.sent == t.completed + t.unanswered, "{t:?}");
}

/// If each request has its own connection, the connection waits for the ticket with which another connection resumes
/// its session.
#[test]
fn a_connection_stays_open_until_its_ticket_has_come() {
    let mut fixture = loading(LoadPlan { new_connections: true, ..closed(1, 0.0) }, &[1.0]);
    fixture.up();
    fixture.hear_datagram(b"hA\0");
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (2, 0), "the client continues at once");
    assert_eq!((fixture.core.conns[0].state, fixture.core.open), (State::Closing, 0));
    fixture.core.on(&mut fixture.wire, Completion::Datagrams { conn: 0, bytes: b"N", datagram_bytes: 1 });
    assert_eq!((fixture.core.conns[0].state, fixture.wire.closes), (State::Free, 1));
    assert_eq!(fixture.sent().concat(), b"HR\0\0Fl");
    // If the server sends no session ticket, the client stops waiting for the ticket after a limited time.
    let second = fixture.wire.current;
    fixture.up();
    fixture.hear_datagram(b"hA\0");
    assert_eq!((fixture.wire.connects, fixture.core.conns[second as usize].state), (3, State::Closing));
    fixture.at_ms(99);
    assert_eq!(fixture.wire.closes, 1);
    fixture.at_ms(101);
    assert_eq!((fixture.core.conns[second as usize].state, fixture.wire.closes), (State::Free, 2));
    let t = fixture.part().total;
    assert_eq!((t.completed, t.early_requests, t.closes_left_to_client, t.error_count()), (2, 2, 0, 0));
}

#[test]
fn the_drain_waits_for_early_requests() {
    let mut fixture = loading(closed(1, 0.0), &[1.0]);
    fixture.up();
    fixture.core.enter(&mut fixture.wire, Phase::Drain, 0);
    assert!(!fixture.core.drained(fixture.wire.now_ns));
    fixture.hear_datagram(b"h");
    fixture.hear_datagram(b"A\0");
    assert!(fixture.core.drained(fixture.wire.now_ns));
    let t = fixture.part().total;
    assert_eq!((t.sent, t.completed, t.unanswered), (1, 1, 0));
}

#[test]
fn without_early_data_in_the_plan_nothing_is_early() {
    let mix = proto::Mix::ONE.clone();
    let mut fixture = Fixture::loading(&closed(2, 0.0), &TestProtocol { mix, takes_early: true });
    fixture.up();
    assert_eq!(fixture.sent(), [b"H".to_vec()]);
}
