//! Servers whose unidirectional streams (control streams, streams of QPACK and others) are odd or wrong.

use quinn_proto::{StreamId, VarInt};
use run::HttpPlan;

use super::exchange::{Exchange, refusal};
use super::odd_server::{OddServer, framed, headers, integer};
use crate::http3::frame::{
    CANCEL_PUSH, CONTROL_STREAM, DATA, DECODER_STREAM, ENCODER_STREAM, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE,
    PUSH_STREAM, SETTINGS,
};
use crate::{Outcome, Requester};

/// Unknown kinds of streams, frames and settings: three numbers reserved for tests of unknown kinds (RFC 9114, sections
/// 6.2.3 and 7.2.8), and one unassigned number.
const UNKNOWN: [u64; 4] = [0x21, 0x40, 0x1f * 1_000_000 + 0x21, 0x4242];

fn ok() -> Vec<u8> {
    headers(&[(":status", "200"), ("content-length", "5")])
}

/// RFC 9114, section 9: unknown kinds of streams, frames and settings must be ignored.
#[test]
fn unknown_streams_frames_and_settings_are_ignored() {
    let mut exchange = Exchange::without_control_stream();
    let settings: Vec<u8> = UNKNOWN.iter().flat_map(|name| [integer(*name), integer(77)].concat()).collect();
    let control = exchange.server.open(&[integer(CONTROL_STREAM), framed(SETTINGS, &settings)].concat());
    let mut unknown = Vec::new();
    for kind in UNKNOWN {
        exchange.server.write(control, &framed(kind, b"anything"));
        unknown.push(exchange.server.open(&[integer(kind), b"anything".to_vec()].concat()));
    }
    exchange.begin(0);
    let grease = |content: &[u8]| UNKNOWN.iter().flat_map(|kind| framed(*kind, content)).collect::<Vec<_>>();
    let trailers = headers(&[("x-checksum", "1")]);
    for part in [&ok()[..], &framed(DATA, b"hel"), &framed(DATA, b""), &framed(DATA, b"lo"), &trailers] {
        exchange.server.answer(0, &grease(b""));
        exchange.server.answer(0, &grease(&[7; 300]));
        exchange.server.answer(0, part);
    }
    exchange.server.answer(0, &grease(b"x"));
    exchange.server.end(0);
    exchange.settle();
    assert_eq!((exchange.fault, exchange.done.len()), (None, 1));
    assert_eq!((exchange.done[0].outcome, exchange.done[0].bytes), (Outcome::Expected, 5));
    let stopped: Vec<_> = unknown.into_iter().map(|id| (id, 0x103)).collect();
    assert_eq!(exchange.stopped(), stopped, "reading is given up with H3_STREAM_CREATION_ERROR");
}

/// The client permits 16 streams at a time. Streams that the client refuses to read must not use up the number of
/// permitted streams.
#[test]
fn any_number_of_unknown_streams_is_ignored_one_after_the_other() {
    let (mut exchange, _) = Exchange::with(HttpPlan::default());
    for _ in 0..100 {
        exchange.server.open(b"\x21");
        exchange.settle();
    }
    let endless = exchange.server.open(b"\xc0");
    exchange.server.finish(endless);
    exchange.settle();
    exchange.begin(0);
    exchange.server.answer(0, &[ok(), framed(DATA, b"hello")].concat());
    exchange.server.end(0);
    exchange.settle();
    assert_eq!((exchange.fault, exchange.done.len()), (None, 1));
}

/// A server may open no bidirectional stream (RFC 9114, section 6.1).
#[test]
fn servers_may_open_no_stream_for_requests() {
    let (mut exchange, _) = Exchange::with(HttpPlan::default());
    assert_eq!(exchange.server.connection().streams().open(quinn_proto::Dir::Bi), None);
}

/// Function that makes the server do something odd. The function's second argument is the server's control stream.
type Act = Box<dyn FnOnce(&mut OddServer, StreamId)>;

/// Runs each case, and checks the error code and some words of the fault.
fn check(cases: Vec<(&str, u64, Act)>) {
    for (words, code, act) in cases {
        let (fault, sent) = refusal(act);
        assert!(fault.contains(words) && sent == code, "{fault:?} with {sent:#x} instead of {words:?} with {code:#x}");
    }
}

fn on_control(bytes: Vec<u8>) -> Act {
    Box::new(move |server, control| server.write(control, &bytes))
}

fn on_new_stream(kind: u64, bytes: &'static [u8]) -> Act {
    Box::new(move |server, _| {
        server.open(&[&integer(kind), bytes].concat());
    })
}

#[test]
fn the_wrong_frame_on_the_control_stream_ends_the_connection() {
    const NOT_ALLOWED: &str = "at a place where it is not allowed";
    let mut cases: Vec<(&str, u64, Act)> = Vec::new();
    for kind in [SETTINGS, DATA, HEADERS, PUSH_PROMISE, MAX_PUSH_ID, 2, 6, 8, 9] {
        cases.push((NOT_ALLOWED, 0x105, on_control(framed(kind, b""))));
    }
    cases.push(("permits none", 0x108, on_control(framed(CANCEL_PUSH, b"\0"))));
    cases.push(("GOAWAY", 0x108, on_control(framed(GOAWAY, &integer(6)))));
    cases.push(("GOAWAY", 0x108, on_control([framed(GOAWAY, &integer(8)), framed(GOAWAY, &integer(12))].concat())));
    cases.push(("incomplete or too long", 0x106, on_control(framed(GOAWAY, b""))));
    cases.push(("incomplete or too long", 0x106, on_control(framed(GOAWAY, b"\x04\x04"))));
    cases.push(("a control frame of HTTP/3 of more than 4 KiB", 0x107, on_control(framed(GOAWAY, &[0; 5000]))));
    check(cases);
}

#[test]
fn a_control_stream_must_begin_with_right_settings() {
    for (words, code, bytes) in [
        ("does not begin with SETTINGS", 0x10a, framed(GOAWAY, b"\0")),
        ("does not begin with SETTINGS", 0x10a, framed(UNKNOWN[0], b"")),
        ("SETTINGS of HTTP/3 are wrong", 0x109, framed(SETTINGS, &[2, 1])),
        ("SETTINGS of HTTP/3 are wrong", 0x109, framed(SETTINGS, &[5, 1])),
        ("SETTINGS of HTTP/3 are wrong", 0x109, framed(SETTINGS, &[6, 1, 6, 1])),
        ("incomplete or too long", 0x106, framed(SETTINGS, &[6])),
    ] {
        let mut exchange = Exchange::without_control_stream();
        exchange.server.open(&[integer(CONTROL_STREAM), bytes].concat());
        exchange.settle();
        let fault = exchange.fault.unwrap().to_string();
        assert!(fault.contains(words), "{fault}");
        assert_eq!(exchange.server.client_code(), Some(code), "{fault}");
    }
}

#[test]
fn critical_streams_must_stay_open_and_exist_once() {
    check(vec![
        ("ended before its connection", 0x104, Box::new(|server, control| server.finish(control))),
        (
            "ended before its connection",
            0x104,
            Box::new(|server, control| server.connection().send_stream(control).reset(VarInt::from_u32(0)).unwrap()),
        ),
        (
            "ended before its connection",
            0x104,
            Box::new(|server, _| {
                let encoder = server.open(&integer(ENCODER_STREAM));
                server.finish(encoder);
            }),
        ),
        ("a second control stream", 0x103, on_new_stream(CONTROL_STREAM, b"")),
        (
            "a second control stream or QPACK stream",
            0x103,
            Box::new(|server, _| {
                server.open(&integer(DECODER_STREAM));
                server.open(&integer(DECODER_STREAM));
            }),
        ),
    ]);
}

#[test]
fn a_push_without_permission_ends_the_connection() {
    check(vec![
        ("permits none", 0x108, on_new_stream(PUSH_STREAM, b"\0")),
        ("permits none", 0x108, Box::new(|server, _| server.answer(0, &framed(PUSH_PROMISE, b"\0\0\0\xd1")))),
    ]);
}

/// The client announces a dynamic table of 0 bytes, which is the default, and permits no blocked stream (RFC 9204,
/// section 5).
#[test]
fn the_client_announces_no_dynamic_table() {
    let (exchange, _) = Exchange::with(HttpPlan::default());
    let mut rest = &exchange.server.control[..];
    let mut next = || crate::http3::frame::integer(&mut rest);
    assert_eq!((next(), next()), (Some(CONTROL_STREAM), Some(SETTINGS)));
    assert!(next().is_some());
    let names: Vec<u64> = std::iter::from_fn(|| next().zip(next())).map(|(name, _)| name).collect();
    let (table_capacity, blocked_streams) = (1, 7);
    assert!(!names.is_empty() && !names.contains(&table_capacity) && !names.contains(&blocked_streams), "{names:?}");
}

/// RFC 9204, section 4.4: the client's headers use no table entry, so the server must not acknowledge any entry.
#[test]
fn an_acknowledgement_of_entries_that_were_not_sent_ends_the_connection() {
    check(vec![
        ("never sent", 0x202, on_new_stream(DECODER_STREAM, b"\x80")),
        ("never sent", 0x202, on_new_stream(DECODER_STREAM, b"\x44\x7f\x80\x01\x01")),
    ]);
}

/// The examples come from RFC 9204, appendix B.2: one sets the table's capacity to 220 bytes, and the other inserts an
/// entry.
#[test]
fn a_server_that_insists_on_a_dynamic_table_is_told_so() {
    const TABLE: &str = "dynamic table";
    let encoded = |block: &[u8]| framed(HEADERS, block);
    let (by_index, by_count) = (encoded(b"\0\0\x80"), encoded(b"\x03\x81\x10\x11"));
    check(vec![
        (TABLE, 0x201, on_new_stream(ENCODER_STREAM, b"\x3f\xbd\x01")),
        (TABLE, 0x201, on_new_stream(ENCODER_STREAM, b"\x20\xc0\x0fwww.example.com")),
        (TABLE, 0x200, Box::new(move |server, _| server.answer(0, &by_index))),
        (TABLE, 0x200, Box::new(move |server, _| server.answer(0, &by_count))),
    ]);
    // A capacity of 0 bytes is allowed, and so is the cancellation of a stream.
    let (mut exchange, _) = Exchange::of_requests(1);
    exchange.server.open(b"\x02\x20\x20");
    exchange.server.open(b"\x03\x44\x7f\x80\x01\x40");
    exchange.server.answer(0, &[ok(), framed(DATA, b"hello")].concat());
    exchange.server.end(0);
    exchange.settle();
    assert_eq!((exchange.fault, exchange.done.len()), (None, 1));
    assert!(exchange.client.close_words().is_none());
}
