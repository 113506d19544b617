//! Tests of the HTTP/2 client against a server that refuses requests, ends the connection or breaks the protocol.

use super::{OK, answer, begin, done, frames, receive, sent, settled};
use crate::http2::frame;
use crate::{Fault, Outcome, Request, Requester};

#[test]
fn requests_accepted_before_a_goaway_are_completed() {
    let mut session = settled(&[]);
    assert_eq!(begin(&mut session, 3), [1, 3, 5]);
    let goaway = |last: u8| {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, frame::GOAWAY, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0]);
        bytes
    };
    let (progress, ended) = receive(&mut session, &goaway(3));
    assert_eq!(ended, [done(2, 0, Outcome::Failed(Fault::Unprocessed))]);
    assert!(!progress.unwrap().close && !session.takes_more());
    assert!(!receive(&mut session, &answer(1, OK, 10)).0.unwrap().close);
    assert!(receive(&mut session, &answer(3, OK, 10)).0.unwrap().close);
    session.reset();
    let mut late = settled(&[]);
    begin(&mut late, 1);
    let nonsense = [goaway(1), answer(1, OK, 10), answer(1, OK, 10)].concat();
    assert!(
        receive(&mut late, &nonsense).0.unwrap().close,
        "what comes after the end is not heard, however it is split"
    );
    assert!(session.takes_more() && !session.ready() && sent(&mut session).starts_with(frame::PREFACE));
    let mut refuses = settled(&[]);
    begin(&mut refuses, 1);
    let (progress, ended) = receive(&mut refuses, &goaway(0));
    assert_eq!(ended, [done(0, 0, Outcome::Failed(Fault::ConnectionRefused))], "it would refuse it again");
    assert!(refuses.explain().unwrap().contains("without processing a request (GOAWAY) with NO_ERROR (0)"));
    assert!(progress.unwrap().close);
}

#[test]
fn one_stream_may_be_reset_alone() {
    let mut session = settled(&[]);
    begin(&mut session, 3);
    let mut bytes = Vec::new();
    frame::write(&mut bytes, frame::RST_STREAM, 0, 1, &frame::REFUSED_STREAM.to_be_bytes());
    frame::write(&mut bytes, frame::RST_STREAM, 0, 3, &2_u32.to_be_bytes());
    bytes.extend(answer(5, OK, 4));
    let (_, ended) = receive(&mut session, &bytes);
    let failed = |id, fault| done(id, 0, Outcome::Failed(fault));
    assert_eq!(ended[..2], [failed(0, Fault::StreamRefused), failed(1, Fault::StreamReset)]);
    assert_eq!(ended[2..], [done(2, 200, Outcome::Expected)]);
    assert!(session.explain().unwrap().contains("REFUSED_STREAM (7)"), "the first reason");
}

#[test]
fn the_reason_of_a_goaway_is_reported() {
    for (code, text, words) in [
        (11_u32, &b"too_many_pings"[..], "ENHANCE_YOUR_CALM (11) and the words \"too_many_pings\""),
        (0, b"maintenance", "NO_ERROR (0) and the words \"maintenance\""),
        (99, b"", "the code 0x63"),
    ] {
        let mut session = settled(&[]);
        begin(&mut session, 1);
        let (mut bytes, payload) = (Vec::new(), [&0_u32.to_be_bytes()[..], &code.to_be_bytes(), text].concat());
        frame::write(&mut bytes, frame::GOAWAY, 0, 0, &payload);
        let (_, ended) = receive(&mut session, &bytes);
        assert_eq!(ended, [done(0, 0, Outcome::Failed(Fault::ConnectionRefused))]);
        assert!(session.explain().unwrap().ends_with(words), "{:?}", session.explain());
    }
}

#[test]
fn pings_are_answered_and_a_flood_is_refused() {
    let mut session = settled(&[]);
    let mut ping = Vec::new();
    frame::write(&mut ping, frame::PING, 0, 0, b"12345678");
    receive(&mut session, &ping).0.unwrap();
    assert_eq!(frames(&sent(&mut session)), [(frame::PING, frame::ACK, 0, b"12345678".to_vec())]);
    let flood = ping.repeat(10_000);
    assert!(matches!(receive(&mut session, &flood).0, Err(Fault::Limit(_))));
}

#[test]
fn protocol_errors_have_a_message() {
    let framed = |kind, flags, stream, payload: &[u8]| {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, kind, flags, stream, payload);
        bytes
    };
    let headers = framed(frame::HEADERS, 0, 1, &[OK]);
    for (bytes, words) in [
        (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "HTTP/1.1"),
        (framed(frame::DATA, 0, 1, b"x"), "before the headers"),
        (framed(frame::DATA, 0, 9, b"x"), "not opened"),
        (framed(frame::CONTINUATION, 0, 1, b""), "without HEADERS"),
        (framed(frame::PUSH_PROMISE, 0, 1, b""), "push"),
        (framed(frame::HEADERS, frame::END_HEADERS, 1, &[0xff, 0xff]), "HPACK"),
        (framed(frame::WINDOW_UPDATE, 0, 0, &[0; 4]), "WINDOW_UPDATE"),
        (framed(frame::WINDOW_UPDATE, 0, 9, &[0, 0, 0, 1]), "not opened"),
        (framed(frame::WINDOW_UPDATE, 0, 1, &[0, 0, 1]), "WINDOW_UPDATE"),
        (framed(frame::WINDOW_UPDATE, 0, 1, &[0x7f, 255, 255, 255]), "2^31-1"),
        (framed(frame::RST_STREAM, 0, 9, &[0; 4]), "RST_STREAM"),
        (framed(frame::RST_STREAM, 0, 0, &[0; 4]), "RST_STREAM"),
        (framed(frame::RST_STREAM, 0, 1, &[0; 3]), "RST_STREAM"),
        (framed(frame::PING, 0, 1, &[0; 8]), "PING"),
        (framed(frame::PING, 0, 0, &[0; 6]), "PING"),
        (framed(frame::SETTINGS, frame::ACK, 0, &[0; 6]), "SETTINGS"),
        (framed(frame::SETTINGS, 0, 1, &[]), "SETTINGS"),
        (framed(frame::SETTINGS, 0, 0, &[0; 3]), "SETTINGS"),
        (framed(frame::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0]), "2^31-1"),
        (framed(frame::SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1]), "SETTINGS"),
        (framed(frame::DATA, 0, 0, b"x"), "not opened"),
        (framed(frame::DATA, frame::PADDED, 1, &[9, 1]), "padded"),
        (framed(frame::HEADERS, frame::END_HEADERS | frame::PADDED, 1, &[9, OK]), "HEADERS"),
        (framed(frame::HEADERS, frame::END_HEADERS, 2, &[OK]), "HEADERS"),
        ([answer(1, OK, 2), framed(frame::DATA, 0, 1, b"x")].concat(), "than its end"),
        ([answer(1, OK, 2), framed(frame::HEADERS, frame::END_HEADERS, 1, &[OK])].concat(), "than its end"),
        ([framed(frame::RST_STREAM, 0, 1, &[0; 4]), framed(frame::DATA, 0, 1, b"x")].concat(), "than its end"),
        ([headers.clone(), framed(frame::PING, 0, 0, &[0; 8])].concat(), "interrupted"),
        ([headers.clone(), framed(frame::CONTINUATION, 0, 1, &[]).repeat(9)].concat(), "empty frames"),
        ([headers, framed(frame::CONTINUATION, 0, 1, &[0; 16_384]).repeat(9)].concat(), "64 KiB"),
    ] {
        let mut session = settled(&[]);
        begin(&mut session, 1);
        let fault = receive(&mut session, &bytes).0.unwrap_err().to_string();
        assert!(fault.contains(words), "{words}: {fault}");
    }
}

/// An earlier version of the client reported only that no complete response came. That version did not say that the
/// server permits no requests.
#[test]
fn a_server_that_permits_no_request_is_named() {
    let mut session = settled(&[(frame::MAX_CONCURRENT_STREAMS, 0)]);
    assert_eq!(session.explain(), None);
    session.begin(Request::default());
    assert!(session.explain().unwrap().contains("SETTINGS_MAX_CONCURRENT_STREAMS is 0"));
    let mut hello = Vec::new();
    frame::write_settings(&mut hello, &[(frame::MAX_CONCURRENT_STREAMS, 1)]);
    receive(&mut session, &hello).0.unwrap();
    sent(&mut session);
    assert_eq!(session.explain(), None);
}
