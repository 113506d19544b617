//! Tests of the HTTP/2 client with frames written by hand.

use proptest::prelude::*;
use run::Protocol;

use super::{NOT_FOUND, OK, answer, begin, done, frames, plan, receive, sent, settled, settled_session};
use crate::http2::hpack::{Decoder, write_length};
use crate::http2::{ClientPlan, ClientSession, frame};
use crate::{Client, Done, Outcome, Progress, Request, Requester, http1};

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
