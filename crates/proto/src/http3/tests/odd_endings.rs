//! Servers that end requests and connections: GOAWAY, resets of streams, STOP_SENDING, CONNECTION_CLOSE, and silence.

use run::HttpPlan;

use super::exchange::{Exchange, large_body_file};
use super::odd_server::{OddServer, framed, headers, integer};
use crate::http3::frame::{DATA, GOAWAY};
use crate::{Done, Fault, Outcome, Request, Requester, Which};

/// Largest ID of a GOAWAY (RFC 9114, section 5.2).
const LAST_ID: u64 = (1 << 62) - 4;

fn goaway(id: u64) -> Vec<u8> {
    framed(GOAWAY, &integer(id))
}

/// Lets the server answer a request completely.
fn answer(exchange: &mut Exchange, request: usize) {
    let bytes = [headers(&[(":status", "200")]), framed(DATA, b"hello")].concat();
    exchange.server.answer(request, &bytes);
    exchange.server.end(request);
    exchange.settle();
}

/// Takes the IDs and the outcomes of the requests that have ended.
fn take_ended(exchange: &mut Exchange) -> Vec<(u16, Outcome)> {
    let id = |done: &Done| match done.which {
        Which::Id(id) => id,
        Which::Oldest => u16::MAX,
    };
    let mut ended: Vec<_> = exchange.done.drain(..).map(|done| (id(&done), done.outcome)).collect();
    ended.sort_unstable_by_key(|(id, _)| *id);
    ended
}

const UNPROCESSED: Outcome = Outcome::Failed(Fault::Unprocessed);

/// The IDs of the streams of requests are 0, 4, 8, …
#[test]
fn goaway_leaves_later_requests_unprocessed_and_completes_earlier_ones() {
    let (mut exchange, control) = Exchange::of_requests(4);
    exchange.server.write(control, &goaway(8));
    exchange.settle();
    assert_eq!(take_ended(&mut exchange), [(2, UNPROCESSED), (3, UNPROCESSED)]);
    assert!(!exchange.client.takes_more() && !exchange.progress.close);
    let given_up: Vec<_> = exchange.server.requests[2..].iter().map(|id| (*id, 0x10c)).collect();
    assert_eq!(exchange.stopped(), given_up, "answers to these requests would be of no use");
    answer(&mut exchange, 1);
    assert!(!exchange.progress.close);
    answer(&mut exchange, 0);
    assert_eq!(take_ended(&mut exchange), [(0, Outcome::Expected), (1, Outcome::Expected)]);
    assert!(exchange.progress.close && exchange.fault.is_none());
}

/// A graceful shutdown in two steps: the first GOAWAY only stops new requests, and a later GOAWAY names the last
/// request that is processed.
#[test]
fn a_second_goaway_may_lower_the_id() {
    let (mut exchange, control) = Exchange::of_requests(3);
    exchange.server.write(control, &goaway(LAST_ID));
    exchange.settle();
    assert!(take_ended(&mut exchange).is_empty() && !exchange.client.takes_more());
    exchange.server.write(control, &[goaway(4), goaway(4)].concat());
    exchange.settle();
    assert_eq!(take_ended(&mut exchange), [(1, UNPROCESSED), (2, UNPROCESSED)]);
    answer(&mut exchange, 0);
    assert_eq!(take_ended(&mut exchange), [(0, Outcome::Expected)]);
    assert!(exchange.progress.close);
}

/// Requests that wait for a free stream were never sent. A connection without any processed request counts as refused.
#[test]
fn goaway_ends_waiting_requests_and_idle_connections() {
    let (mut exchange, control) = Exchange::of_requests(20);
    exchange.client.begin(Request { id: 20, ..Request::default() });
    exchange.settle();
    exchange.server.write(control, &goaway(80));
    exchange.settle();
    assert_eq!(take_ended(&mut exchange), [(20, UNPROCESSED)]);
    let (mut exchange, control) = Exchange::of_requests(2);
    exchange.server.write(control, &goaway(0));
    exchange.settle();
    let refused = Outcome::Failed(Fault::ConnectionRefused);
    assert_eq!(take_ended(&mut exchange), [(0, refused), (1, refused)]);
    assert!(exchange.client.explain().unwrap().contains("without processing a request"));
    assert!(exchange.progress.close);
    let (mut idle, control) = Exchange::of_requests(0);
    idle.server.write(control, &goaway(LAST_ID));
    idle.settle();
    assert!(idle.progress.close && idle.fault.is_none());
}

#[test]
fn a_body_that_the_server_leaves_unprocessed_is_no_longer_sent() {
    let dir = tempfile::tempdir().unwrap();
    let http = HttpPlan { method: "POST".into(), body_file: large_body_file(&dir), ..HttpPlan::default() };
    let (mut exchange, control) = Exchange::with(http);
    exchange.server.reads_requests = false;
    exchange.begin(0);
    exchange.begin(1);
    exchange.server.write(control, &goaway(4));
    exchange.settle();
    assert_eq!(take_ended(&mut exchange), [(1, UNPROCESSED)]);
    assert_eq!(exchange.reset(), [(exchange.server.requests[1], 0x10c)]);
}

#[test]
fn a_goaway_and_the_end_of_the_connection_may_come_together() {
    let (mut exchange, control) = Exchange::of_requests(2);
    exchange.server.write(control, &goaway(4));
    answer(&mut exchange, 0);
    exchange.close(0x100, b"");
    assert_eq!(take_ended(&mut exchange), [(0, Outcome::Expected), (1, UNPROCESSED)]);
    assert!(exchange.progress.close && exchange.fault.is_none());
}

/// A rejected request may be sent again (RFC 9114, section 4.1.1). loadline counts rejected requests separately, like
/// requests that HTTP/2 refuses with REFUSED_STREAM.
#[test]
fn a_reset_stream_fails_its_request_and_is_named() {
    let begun = headers(&[(":status", "200"), ("content-length", "9")]);
    for (code, fault, name) in [
        (0x10b, Fault::StreamRefused, "H3_REQUEST_REJECTED (0x10b)"),
        (0x102, Fault::StreamReset, "H3_INTERNAL_ERROR (0x102)"),
        (0x100, Fault::StreamReset, "H3_NO_ERROR (0x100)"),
        (0x4242, Fault::StreamReset, "the code 0x4242"),
    ] {
        for bytes in [&[][..], &begun, &begun[..2]] {
            let (mut exchange, _) = Exchange::of_requests(3);
            exchange.server.answer(1, bytes);
            exchange.settle();
            exchange.server.stop_reading(1, code);
            exchange.server.reset_answer(1, code);
            exchange.settle();
            assert_eq!(take_ended(&mut exchange), [(1, Outcome::Failed(fault))]);
            let words = exchange.client.close_words().unwrap();
            assert!(words.contains("reset the stream") && words.contains(name), "{words}");
            answer(&mut exchange, 2);
            answer(&mut exchange, 0);
            exchange.begin(1);
            answer(&mut exchange, 3);
            assert_eq!(take_ended(&mut exchange), [0, 1, 2].map(|id| (id, Outcome::Expected)));
            assert!(exchange.fault.is_none() && exchange.client.takes_more());
        }
    }
}

/// A server that does not need the rest of a request should answer the request or reset it. If the server stops the
/// client without an answer or a reset, the text of the failure names the error code.
#[test]
fn stop_sending_stops_a_request_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let http = HttpPlan { method: "POST".into(), body_file: large_body_file(&dir), ..HttpPlan::default() };
    let (mut exchange, _) = Exchange::with(http);
    exchange.server.reads_requests = false;
    exchange.begin(0);
    exchange.server.stop_reading(0, 0x107);
    exchange.settle();
    assert!(exchange.done.is_empty() && exchange.fault.is_none());
    let words = exchange.client.close_words().unwrap();
    assert!(words.contains("STOP_SENDING") && words.contains("H3_EXCESSIVE_LOAD (0x107)"), "{words}");
    exchange.server.reset_answer(0, 0x10b);
    exchange.settle();
    assert_eq!(take_ended(&mut exchange), [(0, Outcome::Failed(Fault::StreamRefused))]);
    let words = exchange.client.close_words().unwrap();
    assert!(words.contains("reset the stream") && words.contains("H3_REQUEST_REJECTED"), "{words}");
}

#[test]
fn the_words_of_a_server_that_closes_are_shown_escaped_and_bounded() {
    let (mut exchange, _) = Exchange::of_requests(2);
    exchange.close(0x102, "disk\u{1b}[31m full\n\u{202e}\"".as_bytes());
    assert_eq!(exchange.fault, Some(Fault::Short));
    let words = exchange.client.close_words().unwrap();
    assert!(words.contains("H3_INTERNAL_ERROR (0x102)") && words.contains("disk"), "{words}");
    let is_plain = |c: char| !c.is_control() && c != '\u{202e}';
    assert!(words.chars().all(is_plain), "{words:?}");
    for reason in [vec![b'x'; 1000], vec![0xff; 1000], "é".repeat(500).into_bytes()] {
        let (mut exchange, _) = Exchange::of_requests(1);
        exchange.close(0x4242, &reason);
        let words = exchange.client.close_words().unwrap();
        assert!(words.contains("the code 0x4242") && words.chars().count() < 400, "{words}");
    }
}

#[test]
fn a_connection_that_closes_without_requests_is_no_failure() {
    let (mut exchange, _) = Exchange::of_requests(1);
    answer(&mut exchange, 0);
    exchange.close(0x102, b"");
    assert!(exchange.fault.is_none() && exchange.progress.close);
    assert!(exchange.client.close_words().unwrap().contains("H3_INTERNAL_ERROR"));
}

#[test]
fn a_close_instead_of_a_handshake_is_told() {
    let mut exchange = Exchange::before_handshake(HttpPlan::default());
    exchange.client.tick(exchange.now_ns);
    let mut datagrams = vec![0; 16 * 1024];
    assert!(exchange.client.transmit(&mut datagrams) > 0);
    exchange.now_ns += 20_000_000_000;
    // Nothing is heard from the server, so QUIC's timers run out.
    for _ in 0..20 {
        exchange.client.tick(exchange.now_ns);
        while exchange.client.transmit(&mut datagrams) > 0 {}
        if let Err(fault) = exchange.client.receive(&[], &mut drop) {
            exchange.fault = Some(fault);
            break;
        }
        exchange.now_ns += 20_000_000_000;
    }
    assert!(exchange.fault.is_some_and(|fault| fault.to_string().contains("handshake of QUIC failed")));
    assert!(exchange.client.explain().unwrap().contains("silent"), "{:?}", exchange.client.explain());
}

#[test]
fn a_server_that_falls_silent_is_told() {
    let (mut exchange, _) = Exchange::of_requests(1);
    let mut datagrams = vec![0; 16 * 1024];
    for _ in 0..60 {
        exchange.now_ns += 1_000_000_000;
        exchange.client.tick(exchange.now_ns);
        while exchange.client.transmit(&mut datagrams) > 0 {}
        if let Err(fault) = exchange.client.receive(&[], &mut drop) {
            exchange.fault = Some(fault);
            break;
        }
    }
    assert_eq!(exchange.fault, Some(Fault::Short));
    assert!(exchange.client.close_words().unwrap().contains("idle timeout"));
}

#[test]
fn a_server_that_speaks_another_protocol_over_quic_is_told() {
    let mut exchange = Exchange::before_handshake(HttpPlan::default());
    exchange.server = OddServer::speaking("doq");
    exchange.settle();
    assert!(exchange.fault.is_some_and(|fault| fault.to_string().contains("handshake of QUIC failed")));
    assert!(exchange.client.explain().unwrap().contains("not HTTP/3"), "{:?}", exchange.client.explain());
}

/// RFC 9000, section 8.1.2: a server may ask the client to prove its address.
#[test]
fn a_retry_of_the_server_is_followed() {
    let mut exchange = Exchange::before_handshake(HttpPlan::default());
    exchange.server.asks_for_proof = true;
    exchange.settle();
    assert!(exchange.client.ready() && !exchange.server.asks_for_proof);
    exchange.begin(0);
    answer(&mut exchange, 0);
    assert_eq!(take_ended(&mut exchange), [(0, Outcome::Expected)]);
}
