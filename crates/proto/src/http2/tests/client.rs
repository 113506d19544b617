//! Tests of the HTTP/2 client with frames written by hand.

use proptest::prelude::*;
use run::Protocol;

use super::{NOT_FOUND, OK, begin, done, frames, plan, receive, sent, settled, settled_session};
use crate::http2::hpack::{Decoder, write_length};
use crate::http2::{ClientPlan, ClientSession, frame};
use crate::{Client, Done, Fault, Outcome, Progress, Request, Requester, http1};

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

/// The padding of a DATA frame is not counted as a part of the body.
#[test]
fn the_length_of_a_body_is_the_sum_of_its_data() {
    let mut session = settled(&[]);
    begin(&mut session, 2);
    receive(&mut session, &answer(1, OK, 1000)).0.unwrap();
    assert_eq!((session.last_body_bytes(), session.plain().unwrap().starts_with(b"HTTP/2 200")), (Some(1000), true));
    session.forget_first_answer();
    receive(&mut session, &answer(3, NOT_FOUND, 7)).0.unwrap();
    assert_eq!((session.last_body_bytes(), session.plain()), (Some(7), Some(&b"HTTP/2 404\r\n\r\nxxxyyyy"[..])));
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
}

/// A server that lowers the size of its header table waits for a header block that begins by setting the size (RFC
/// 9113, section 4.3.1). The byte 0x20 sets the size to 0.
#[test]
fn a_smaller_header_table_of_the_server_is_confirmed() {
    let request = run::RequestPlan { path: "/{{seq}}".into(), ..Default::default() };
    let set = run::RequestSet { requests: vec![request], templates: true, ..Default::default() };
    let filled = ClientPlan::with_set(&http1::to_http2(Protocol::default()), Some(&set)).unwrap();
    for (plan, size) in [(plan(), 0), (plan(), 2048), (filled.clone(), 0), (filled, 2048)] {
        let mut session = settled_session(&plan, &[(frame::HEADER_TABLE_SIZE, size)]);
        session.begin(Request::default());
        let sent = frames(&sent(&mut session));
        assert_eq!((sent[0].0, sent[0].3[0]), (frame::HEADERS, 0x20), "{size}");
        Decoder::default().decode(&sent[0].3, |_, _| ()).unwrap();
    }
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
fn a_request_that_waited_for_a_stream_is_told_when_it_gets_one() {
    let late = |session: &mut ClientSession| {
        let mut ids: Vec<u16> = Vec::new();
        session.each_late_request(&mut |id| ids.push(id));
        ids
    };
    let mut session = settled(&[(3, 1)]);
    assert_eq!(
        (begin(&mut session, 3), late(&mut session)),
        (vec![1], Vec::<u16>::new()),
        "the first one had not to wait"
    );
    for (stream, id) in [(1, 1), (3, 2)] {
        receive(&mut session, &answer(stream, OK, 10)).0.unwrap();
        sent(&mut session);
        assert_eq!(late(&mut session), [id]);
    }
    session.reset();
    assert_eq!(late(&mut session), Vec::<u16>::new());
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

/// HTTP/1.1 also accepts a header of this size.
#[test]
fn a_header_of_60_kb_is_read_and_the_limit_is_announced() {
    let greeting = sent(&mut super::plan().session());
    let settings = &frames(&greeting[frame::PREFACE.len()..])[0];
    assert!(settings.0 == frame::SETTINGS && settings.3.ends_with(&[0, 6, 0, 1, 0, 0]), "64 KiB: {settings:?}");
    let mut session = settled(&[]);
    begin(&mut session, 1);
    let mut block = vec![OK, 0, 1, b'x'];
    write_length(&mut block, 60_000);
    block.resize(block.len() + 60_000, b'v');
    let mut bytes = Vec::new();
    frame::write_block(&mut bytes, 1, frame::END_STREAM, &block);
    let (progress, ended) = receive(&mut session, &bytes);
    assert!(progress.is_ok() && ended == [done(0, 200, Outcome::Expected)], "{ended:?}");
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

/// An earlier version of the client only reported that no complete response came, and not that the server permits no
/// requests.
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
