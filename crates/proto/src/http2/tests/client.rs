//! Tests of the client side with frames written by hand.

use proptest::prelude::*;
use run::{Protocol, StreamFormat, StreamPlan};

use super::{OK, begin, frames, plan, receive, sent, settled, settled_session};
use crate::http2::hpack::{Decoder, write_fields};
use crate::http2::{ClientPlan, ClientSession, frame};
use crate::{Client, Done, Fault, Outcome, Progress, Request, Requester, Which, http1};

/// Builds a response whose body is in two frames, the second one with padding.
fn answer(stream: u32, status: u8, body: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut block = vec![status];
    block.extend([0x0f, 0x0d, body.to_string().len() as u8]);
    block.extend(body.to_string().bytes());
    frame::write_block(&mut bytes, stream, 0, &block);
    frame::write(&mut bytes, frame::DATA, 0, stream, &vec![b'x'; body / 2]);
    let mut padded = vec![3];
    padded.resize(1 + body - body / 2 + 3, b'y');
    frame::write(&mut bytes, frame::DATA, frame::END_STREAM | frame::PADDED, stream, &padded);
    bytes
}

const NOT_FOUND: u8 = 0x8d;
const ERROR: u8 = 0x8e;

fn done(id: u16, status: u16, outcome: Outcome) -> Done {
    Done { which: Which::Id(id), status, outcome, bytes: 0, events: 0 }
}

proptest! {
    #[test]
    fn answers_in_any_order_and_any_pieces_are_told_by_name(cut in 1_usize..400, body in 0_usize..3000) {
        let mut session = settled(&[]);
        prop_assert_eq!(begin(&mut session, 3), [1, 3, 5]);
        let bytes = [answer(5, OK, body), answer(1, NOT_FOUND, body), answer(3, OK, body)].concat();
        let mut ended = Vec::new();
        for piece in bytes.chunks(cut) {
            session.receive(piece, &mut |done| ended.push(Done { bytes: 0, ..done })).unwrap();
        }
        let expected = [(2, 200, Outcome::Expected), (0, 404, Outcome::Unexpected), (1, 200, Outcome::Expected)];
        prop_assert_eq!(ended, expected.map(|(id, status, outcome)| done(id, status, outcome)).to_vec());
        prop_assert_eq!(session.peer_closed(&mut drop), Ok(Progress::CLOSE));
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_u8..10, flags in any::<u8>(), stream in 0_u32..8) {
        let mut session = settled(&[]);
        begin(&mut session, 2);
        let mut framed = Vec::new();
        frame::write(&mut framed, kind, flags, stream, &bytes);
        let _ = session.receive(&framed, &mut drop);
        let _ = session.receive(&bytes, &mut drop);
        let _ = session.peer_closed(&mut drop);
    }
}

#[test]
fn later_requests_use_the_table_and_decode_to_the_same_fields() {
    let mut session = settled(&[]);
    session.begin(Request::default());
    session.begin(Request { id: 1, item: 0, ..Request::default() });
    let all = frames(&sent(&mut session));
    let mut decoder = Decoder::default();
    let read = |decoder: &mut Decoder, block: &[u8]| {
        let mut said = Vec::new();
        decoder.decode(block, |name, value| said.push((name.to_vec(), value.to_vec()))).unwrap();
        said
    };
    let (first, later) = (read(&mut decoder, &all[0].3), read(&mut decoder, &all[1].3));
    assert_eq!(first, later);
    assert!(all[1].3.len() < all[0].3.len() / 2, "{} {}", all[0].3.len(), all[1].3.len());
    assert!(first.contains(&(b":authority".to_vec(), b"localhost".to_vec())));
    assert_eq!(all[0].1, frame::END_HEADERS | frame::END_STREAM);
    let mut small = settled(&[(frame::HEADER_TABLE_SIZE, 0)]);
    begin(&mut small, 1);
}

#[test]
fn a_trace_context_is_a_header_and_leaves_the_table_as_it_is() {
    let mut session = settled(&[]);
    let trace = crate::Trace::new(5);
    for (id, trace) in (0..).zip([trace, crate::Trace::NONE, trace]) {
        session.begin(Request { id, trace, ..Request::default() });
    }
    let mut decoder = Decoder::default();
    let mut read = |block: &[u8]| {
        let mut fields = Vec::new();
        decoder.decode(block, |name, value| fields.push((name.to_vec(), value.to_vec()))).unwrap();
        fields
    };
    let all: Vec<_> = frames(&sent(&mut session)).iter().map(|frame| read(&frame.3)).collect();
    let (first, second, third) = (&all[0], &all[1], &all[2]);
    assert_eq!(first.last(), Some(&(b"traceparent".to_vec(), trace.value().to_vec())));
    assert_eq!((&first[..first.len() - 1], first), (&second[..], third));
}

#[test]
fn no_more_streams_than_the_server_allows() {
    let mut session = settled(&[(frame::MAX_CONCURRENT_STREAMS, 2)]);
    assert_eq!(begin(&mut session, 5), [1, 3]);
    let (progress, ended) = receive(&mut session, &answer(3, OK, 0));
    assert_eq!((progress.unwrap().completed, ended.len()), (1, 1));
    assert_eq!(frames(&sent(&mut session)).iter().map(|f| f.2).collect::<Vec<_>>(), [5]);
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
fn a_body_waits_for_the_windows() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'b'; 100_000]).unwrap();
    let mut protocol = http1::to_http2(Protocol::default());
    let request = protocol.http_mut().unwrap();
    (request.body_file, request.method) = (Some(file.path().display().to_string()), "POST".into());
    let mut session = ClientPlan::new(&protocol).unwrap().session();
    sent(&mut session);
    let mut bytes = Vec::new();
    frame::write_settings(&mut bytes, &[(frame::INITIAL_WINDOW_SIZE, 50_000)]);
    receive(&mut session, &bytes).0.unwrap();
    session.begin(Request::default());
    let body = |session: &mut ClientSession| {
        let all = frames(&sent(session));
        let data = all.iter().filter(|f| f.0 == frame::DATA);
        (data.clone().map(|f| f.3.len()).sum::<usize>(), data.clone().any(|f| f.1 & frame::END_STREAM != 0))
    };
    assert_eq!(body(&mut session), (50_000, false));
    let mut more = Vec::new();
    frame::write(&mut more, frame::WINDOW_UPDATE, 0, 1, &90_000_u32.to_be_bytes());
    receive(&mut session, &more).0.unwrap();
    assert_eq!(body(&mut session), (15_535, false), "the connection's window");
    more.clear();
    frame::write(&mut more, frame::WINDOW_UPDATE, 0, 0, &90_000_u32.to_be_bytes());
    receive(&mut session, &more).0.unwrap();
    assert_eq!(body(&mut session), (34_465, true));
    more.clear();
    frame::write(&mut more, frame::WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
    assert!(receive(&mut session, &more).0.is_err());
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

#[test]
fn a_window_is_given_back_before_it_runs_short() {
    let mut session = settled(&[]);
    begin(&mut session, 1);
    let mut bytes = Vec::new();
    frame::write_block(&mut bytes, 1, 0, &[OK]);
    for _ in 0..600 {
        frame::write(&mut bytes, frame::DATA, 0, 1, &[0; 16_384]);
    }
    receive(&mut session, &bytes).0.unwrap();
    let given: Vec<u32> =
        frames(&sent(&mut session)).iter().filter(|f| f.0 == frame::WINDOW_UPDATE).map(|f| f.2).collect();
    assert_eq!(given, [1]);
}

/// Builds a part of the body of a response; its headers were sent before.
fn piece(stream: u32, text: &str, ends: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, frame::DATA, if ends { frame::END_STREAM } else { 0 }, stream, text.as_bytes());
    bytes
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
    // There are two rounds, because the counters of the first are used again.
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
    // There are two rounds, because text from the first round must not be found in the second.
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

/// Seen: the user was told only that no complete response came.
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

/// Seen: the advice for HTTP/1.1 was to write `http://` without `--http2`, also for a call of gRPC.
#[test]
fn an_answer_in_http_1_has_advice_for_the_protocol() {
    let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    let said = |mut session: ClientSession| receive(&mut session, answer).0.unwrap_err().to_string();
    assert!(said(settled(&[])).contains("without --http2"));
    let calls = said(call());
    assert!(calls.contains("give the port of the gRPC server") && !calls.contains("--http2"), "{calls}");
}

fn call() -> ClientSession {
    let message = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(message.path(), b"hello").unwrap();
    let (path, host, body_file) = ("/p.S/M".into(), "h".into(), Some(message.path().display().to_string()));
    let plan =
        Protocol::Grpc { path, host, headers: vec![("X-Key".into(), "v".into())], body_file, expect_status: Some(5) };
    let mut session = ClientPlan::calls(&plan).unwrap().session();
    sent(&mut session);
    let mut hello = Vec::new();
    frame::write_settings(&mut hello, &[]);
    receive(&mut session, &hello).0.unwrap();
    sent(&mut session);
    session
}

/// Answers a gRPC call with HTTP headers, an optional message, and trailers; returns the result.
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
