use std::cell::Cell;

use super::*;
use crate::Options;

const MS: u64 = 1_000_000;
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

thread_local! {
    static NOW_MS: Cell<u64> = const { Cell::new(0) };
}

fn session(options: &[(&str, &str)]) -> StreamSession {
    NOW_MS.set(1_000);
    let map = options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let plan = StreamPlan::from(&Options::new(&map).unwrap(), || NOW_MS.get() * MS);
    StreamSession::new(plan.unwrap())
}

/// Sets the clock to `at_ms`, and returns the bytes that the session then sends.
fn sent(session: &mut StreamSession, at_ms: u64) -> String {
    NOW_MS.set(1_000 + at_ms);
    let (mut all, mut piece) = (Vec::new(), [0; 7]);
    while session.wants_transmit() {
        let n = session.transmit(&mut piece);
        all.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(all).unwrap()
}

#[test]
fn events_leave_at_their_times() {
    let mut s = session(&[("first_ms", "300"), ("gap_ms", "20"), ("events", "3"), ("end", "[DONE]")]);
    assert_eq!((s.due_ns(), s.receive(GET).unwrap().completed), (None, 1));
    let head = sent(&mut s, 0);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n") && head.ends_with("\r\n\r\n"));
    assert_eq!((s.due_ns(), sent(&mut s, 299)), (Some(1_300 * MS), String::new()));
    assert_eq!(sent(&mut s, 300), "13\r\ndata: {\"event\":0}\n\n\r\n");
    let late = sent(&mut s, 345);
    assert!(late.contains(":1}") && late.contains(":2}"), "what is late is sent together: {late}");
    assert!(late.ends_with("e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"), "{late}");
    assert_eq!((s.due_ns(), s.flushed().close), (None, false));
}

#[test]
fn a_request_that_waits_is_answered_after_the_stream() {
    let mut s = session(&[("first_ms", "10"), ("events", "1"), ("format", "ndjson")]);
    let post = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc";
    for byte in GET.iter().chain(post) {
        s.receive(&[*byte]).unwrap();
    }
    let first = sent(&mut s, 10);
    assert!(first.contains("c\r\n{\"event\":0}\n\r\n0\r\n\r\nHTTP/1.1 200"), "{first}");
    assert!(!s.flushed().close);
    assert!(sent(&mut s, 20).ends_with("0\r\n\r\n") && s.flushed().close);
}

#[test]
fn a_stream_without_chunks_ends_with_its_connection() {
    let mut s = session(&[("first_ms", "10"), ("events", "1")]);
    s.receive(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert!(!sent(&mut s, 0).contains("chunked") && !s.flushed().close);
    assert_eq!((sent(&mut s, 10), s.flushed().close), ("data: {\"event\":0}\n\n".into(), true));
}

#[test]
fn what_is_no_request_is_refused() {
    let mut s = session(&[]);
    assert!(s.receive(b"NONSENSE\r\n\r\n").unwrap().close && sent(&mut s, 0).contains("400"));
    let mut s = session(&[]);
    s.receive(GET).unwrap();
    assert!(s.receive(&[b'x'; HEAD_LIMIT + 1]).is_err(), "the requests that wait are bounded");
}

#[test]
fn unknown_values_are_refused() {
    for (name, value) in [("format", "xml"), ("profile", "odd"), ("gap_ms", "-1"), ("events", "many")] {
        let map = [(name.to_owned(), value.to_owned())].into();
        assert!(StreamPlan::from(&Options::new(&map).unwrap(), || 0).is_err(), "{name}");
    }
}
