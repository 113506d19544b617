//! Tests of the client's results for answers: refusals, bodies in pieces, streams of events, and gRPC.

use run::{GrpcPlan, Protocol, StreamFormat, StreamPlan};

use super::{ERROR, NOT_FOUND, OK, begin, done, frames, plan, receive, sent, settled, settled_session};
use crate::http2::hpack::write_fields;
use crate::http2::{ClientPlan, ClientSession, frame};
use crate::{Client, Done, Fault, Outcome, ProtoError, Request, Requester, Which, http1};

/// Builds a DATA frame with a part of a response's body.
fn piece(stream: u32, text: &str, ends: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, frame::DATA, if ends { frame::END_STREAM } else { 0 }, stream, text.as_bytes());
    bytes
}

#[test]
fn refusals_are_told_in_their_own_words_however_pieces_are_mixed() {
    let mut session = settled(&[]);
    begin(&mut session, 5);
    let mut heard = |bytes: &[Vec<u8>]| {
        let ended = receive(&mut session, &bytes.concat()).1;
        (ended.into_iter().map(|done| done.status).collect::<Vec<_>>(), session.refusal_words())
    };
    let head = |stream: u32, status: u8, flags: u8| {
        let mut bytes = Vec::new();
        frame::write_block(&mut bytes, stream, flags, &[status]);
        bytes
    };
    let begun = [head(1, NOT_FOUND, 0), head(3, OK, 0), head(5, ERROR, 0)];
    assert_eq!(heard(&begun), (vec![], None));
    let mixed = [piece(5, "no ", false), piece(1, "no page", true), piece(3, "page", true)];
    assert_eq!(heard(&mixed), (vec![404, 200], Some("\"no page\"".into())));
    assert_eq!(heard(&[piece(5, "backend\x1b[2J", true)]), (vec![500], Some("\"no backend [2J\"".into())));
    assert_eq!(heard(&[head(7, NOT_FOUND, frame::END_STREAM)]), (vec![404], None), "not the words of another answer");
    let mut end = Vec::new();
    frame::write(&mut end, frame::GOAWAY, 0, 0, &[&[0, 0, 0, 9, 0, 0, 0, 11], &b"too many"[..]].concat());
    heard(&[end]);
    assert!(session.close_words().unwrap().ends_with("(11) and the words \"too many\""), "{:?}", session.close_words());
    session.reset();
    assert_eq!((session.close_words(), session.refusal_words()), (None, None));
}

#[test]
fn an_answer_has_begun_once_its_headers_arrived_and_until_it_ends() {
    let mut session = settled(&[]);
    let numbers = begin(&mut session, 3);
    let begun = |session: &mut ClientSession| {
        let mut all = Vec::new();
        session.each_begun_answer(&mut |which, _| all.push(which));
        all
    };
    assert_eq!(begun(&mut session), []);
    let mut bytes = Vec::new();
    frame::write_block(&mut bytes, numbers[1], 0, &[OK]);
    frame::write_block(&mut bytes, numbers[2], 0, &[OK]);
    bytes.extend(piece(numbers[2], "all", true));
    receive(&mut session, &bytes).0.unwrap();
    assert_eq!(begun(&mut session), [Which::Id(1)]);
    receive(&mut session, &piece(numbers[1], "part", false)).0.unwrap();
    receive(&mut session, &piece(numbers[1], "end", true)).0.unwrap();
    assert_eq!(begun(&mut session), []);
}

#[test]
fn events_are_counted_for_each_response_however_pieces_are_mixed() {
    let stream = StreamPlan { format: StreamFormat::Ndjson, ..StreamPlan::default() };
    let mut session = settled_session(&plan().with_stream(&stream).unwrap(), &[]);
    // In the second round, the session uses the counters of the first round again.
    for _ in 0..2 {
        let numbers = begin(&mut session, 2);
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| frame::write_block(&mut bytes, *number, 0, &[OK]));
        bytes.extend([piece(numbers[0], "1\n2\n", false), piece(numbers[1], "1\n2", false)].concat());
        receive(&mut session, &bytes).0.unwrap();
        let mut events = Vec::new();
        session.each_begun_answer(&mut |which, n| events.push((which, n)));
        assert_eq!(events, [(Which::Id(0), 2), (Which::Id(1), 1)]);
        let ended = receive(&mut session, &[piece(numbers[1], "\n", true), piece(numbers[0], "3", true)].concat()).1;
        let events: Vec<(Which, u32)> = ended.iter().map(|done| (done.which, done.events)).collect();
        assert_eq!(events, [(Which::Id(1), 1), (Which::Id(0), 1)]);
    }
}

/// An answer without a body lacks the event that ends a stream. The counter of events may still hold the end of an
/// earlier body with the same request ID, whose stream was reset.
#[test]
fn an_empty_answer_has_no_event_that_ends_the_stream() {
    let stream = StreamPlan { format: StreamFormat::Ndjson, end: "END".into(), ..StreamPlan::default() };
    let mut session = settled_session(&plan().with_stream(&stream).unwrap(), &[]);
    let mut ends = |act: &dyn Fn(u32) -> Vec<u8>| {
        let number = begin(&mut session, 1)[0];
        receive(&mut session, &act(number)).1[0].outcome
    };
    let head = |number: u32, flags: u8| {
        let mut bytes = Vec::new();
        frame::write_block(&mut bytes, number, flags, &[OK]);
        bytes
    };
    let empty = |number| head(number, frame::END_STREAM);
    let reset = |number| {
        let mut bytes = [head(number, 0), piece(number, "END\n", false)].concat();
        frame::write(&mut bytes, frame::RST_STREAM, 0, number, &frame::CANCEL.to_be_bytes());
        bytes
    };
    let lacks_end = Outcome::Failed(Fault::WrongBody(crate::events::NO_END));
    assert_eq!(ends(&empty), lacks_end, "no counter yet");
    assert_eq!(ends(&reset), Outcome::Failed(Fault::StreamReset));
    assert_eq!(ends(&empty), lacks_end, "the counter of a body that was reset");
    assert_eq!(ends(&|number| [head(number, 0), piece(number, "END\n", true)].concat()), Outcome::Expected);
}

#[test]
fn a_text_is_looked_for_in_its_own_response_however_pieces_are_mixed() {
    let request = |expect_text: &str| run::RequestPlan { expect_text: expect_text.into(), ..Default::default() };
    let set = run::RequestSet { requests: vec![request("welcome"), request("")], ..Default::default() };
    let plan = ClientPlan::with_set(&http1::to_http2(Protocol::default()), Some(&set)).unwrap();
    let mut session = plan.session();
    let mut hello = Vec::new();
    frame::write_settings(&mut hello, &[]);
    receive(&mut session, &hello).0.unwrap();
    let wrong = Outcome::Failed(Fault::WrongBody("the expected text is not in it"));
    // The requests are sent in two rounds, because text from the first round must not be found in the second round.
    for round in [0, 4] {
        (0..4).for_each(|id| session.begin(Request { id, item: id / 3, ..Request::default() }));
        sent(&mut session);
        let stream = |id: u32| 1 + 2 * (round + id);
        let (right, half, none, other) = (stream(0), stream(1), stream(2), stream(3));
        let mut bytes = Vec::new();
        for (number, flags) in [(right, 0), (half, 0), (none, frame::END_STREAM), (other, 0)] {
            frame::write_block(&mut bytes, number, flags, &[OK]);
        }
        let mixed = [(right, "a wel", false), (half, "wel", false), (other, "come", true), (half, "not come", true)];
        mixed.iter().for_each(|(number, text, ends)| bytes.extend(piece(*number, text, *ends)));
        bytes.extend(piece(right, "come b", true));
        let ended = receive(&mut session, &bytes).1;
        let expected = [(2, wrong), (3, Outcome::Expected), (1, wrong), (0, Outcome::Expected)];
        assert_eq!(ended, expected.map(|(id, outcome)| done(id, 200, outcome)));
    }
}

/// For gRPC calls, an earlier version of the client gave the advice for HTTP/1.1: to write `http://` without `--http2`.
#[test]
fn an_answer_in_http_1_has_advice_for_the_protocol() {
    let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    let said = |mut session: ClientSession| receive(&mut session, answer).0.unwrap_err().to_string();
    assert!(said(settled(&[])).contains("without --http2"));
    let calls = said(call());
    assert!(calls.contains("give the port of the gRPC server") && !calls.contains("--http2"), "{calls}");
}

fn call() -> ClientSession {
    call_of(Ok)
}

/// Creates a session for gRPC calls. `change` may alter the usual plan of the session.
fn call_of(change: impl FnOnce(ClientPlan) -> Result<ClientPlan, ProtoError>) -> ClientSession {
    let message = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(message.path(), b"hello").unwrap();
    let (path, host, body_file) = ("/p.S/M".into(), "h".into(), Some(message.path().display().to_string()));
    let (headers, expect_status) = (vec![("X-Key".into(), "v".into())], Some(5));
    let plan = Protocol::Grpc(GrpcPlan { path, host, headers, body_file, expect_status, ..GrpcPlan::default() });
    let mut session = change(ClientPlan::calls(&plan).unwrap()).unwrap().session();
    sent(&mut session);
    let mut hello = Vec::new();
    frame::write_settings(&mut hello, &[]);
    receive(&mut session, &hello).0.unwrap();
    sent(&mut session);
    session
}

/// Answers a gRPC call with HTTP headers, an optional message, and optional trailers. Returns the result of the call.
fn called(first: &[(&str, &str)], message: &[u8], trailers: &[(&str, &str)]) -> Done {
    let mut session = call();
    session.begin(Request::default());
    let asked = frames(&sent(&mut session));
    assert_eq!((asked[1].0, asked[1].1, &asked[1].3[..]), (frame::DATA, frame::END_STREAM, &b"\0\0\0\0\x05hello"[..]));
    let (mut bytes, only) = (Vec::new(), trailers.is_empty() && message.is_empty());
    let block = write_fields(first.iter().copied());
    frame::write_block(&mut bytes, 1, if only { frame::END_STREAM } else { 0 }, &block);
    if !message.is_empty() {
        let ends = if trailers.is_empty() { frame::END_STREAM } else { 0 };
        frame::write(&mut bytes, frame::DATA, ends, 1, message);
    }
    if !trailers.is_empty() {
        frame::write_block(&mut bytes, 1, frame::END_STREAM, &write_fields(trailers.iter().copied()));
    }
    let (progress, ended) = receive(&mut session, &bytes);
    assert_eq!((progress.unwrap().completed, ended.len()), (1, 1));
    let explained = session.explain();
    assert_eq!(explained.is_some(), ended[0].outcome == Outcome::Unexpected, "{explained:?}");
    let told = |words: &str| explained.iter().all(|text| text.contains(words));
    assert!(session.refusal_words().iter().all(|words| told(words) && words.starts_with('"')), "{explained:?}");
    assert!(message != b"busy" || told("the words \"busy\""), "a proxy's words: {explained:?}");
    ended[0]
}

#[test]
fn a_call_counts_by_its_status() {
    let (ok, message) = (&[(":status", "200")][..], &b"\0\0\0\0\0"[..]);
    let trailers = |code: &'static str| [("grpc-message", "why"), ("grpc-status", code)];
    let right = |code: u16| done(0, 1000 + code, Outcome::Expected);
    let wrong = |code: u16| done(0, 1000 + code, Outcome::Unexpected);
    assert_eq!(called(ok, message, &trailers("0")), right(0));
    assert_eq!(called(ok, &[], &trailers("14")), wrong(14));
    assert_eq!(called(&[(":status", "200"), ("grpc-status", "12")], &[], &[]), wrong(12));
    assert_eq!(called(ok, &[], &trailers("5")), right(5), "it was expected");
    assert_eq!(called(&[(":status", "503")], b"busy", &[]), wrong(14));
    assert_eq!(called(&[(":status", "404")], &[], &[]), wrong(12));
    assert_eq!(called(ok, &[], &trailers("99")).status, 1099);
    let broken = |told: Done| matches!(told.outcome, Outcome::Failed(Fault::WrongBody(_)));
    assert!(broken(called(ok, message, &[])), "no status");
    assert!(broken(called(ok, &[], &trailers("0"))), "no message");
    assert!(broken(called(ok, b"\0\0\0\0\x04abc", &trailers("0"))), "a message that is cut short");
    assert!(broken(called(ok, message, &[("grpc-status", "x")])), "no number");
}

/// A method whose server streams its messages may send none (gRPC over HTTP/2: `*Length-Prefixed-Message`).
#[test]
fn a_stream_of_messages_may_be_empty() {
    let stream = StreamPlan { format: StreamFormat::Grpc, ..StreamPlan::default() };
    let mut session = call_of(|plan| plan.with_stream(&stream));
    session.begin(Request::default());
    sent(&mut session);
    let mut bytes = Vec::new();
    let only_headers = write_fields([(":status", "200"), ("grpc-status", "0")].into_iter());
    frame::write_block(&mut bytes, 1, frame::END_STREAM, &only_headers);
    assert_eq!(receive(&mut session, &bytes).1, [done(0, 1000, Outcome::Expected)]);
}
