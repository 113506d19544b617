//! Tests of the HTTP/1 client.

use proptest::prelude::*;
use run::HttpPlan;
use run::RequestOrder;

use super::*;
use crate::{Outcome, Which};

fn plan(method: &str, expect_status: Option<u16>) -> Protocol {
    let (method, host) = (method.into(), "h".into());
    Protocol::Http1(HttpPlan { method, host, expect_status, ..HttpPlan::default() })
}

fn session(method: &str, requests: u32) -> ClientSession {
    let mut s = ClientPlan::new(&plan(method, None)).unwrap().session();
    (0..requests).for_each(|_| s.begin(Asked::default()));
    while s.transmit(&mut [0; 64]) > 0 {}
    s
}

fn one(method: &str, text: &str) -> Result<Progress, Fault> {
    session(method, 1).receive(text.as_bytes(), &mut drop)
}

const OK: &str = "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";

#[test]
fn every_response_is_told_with_its_status() {
    let told = |expect_status, text: &str| {
        let mut s = ClientPlan::new(&plan("GET", expect_status)).unwrap().session();
        s.begin(Asked::default());
        s.transmit(&mut [0; 256]);
        let mut told = Vec::new();
        let p = s.receive(text.as_bytes(), &mut |done: Done| told.push((done.status, done.outcome))).unwrap();
        assert_eq!((p.completed, p.close), (1, false));
        told
    };
    assert_eq!(told(None, OK), [(200, Outcome::Expected)]);
    assert_eq!(told(None, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), [(404, Outcome::Unexpected)]);
    assert_eq!(told(Some(503), "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), [(503, Outcome::Expected)]);
    assert_eq!(told(Some(503), OK), [(200, Outcome::Unexpected)], "a named status is the only right one");
    let moved = "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(told(Some(200), moved), [(301, Outcome::Unexpected)]);
    assert_eq!(told(None, moved), [(301, Outcome::Expected)]);
}

#[test]
fn the_length_of_a_body_counts_neither_its_head_nor_its_chunks() {
    let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{CHUNKED}");
    for (text, length) in [(OK, 5), (CHUNKED, 5), (&interim, 5), ("HTTP/1.1 204 No Content\r\n\r\n", 0)] {
        let mut s = session("GET", 1);
        assert_eq!(s.last_body_bytes(), None);
        text.as_bytes().chunks(3).for_each(|piece| _ = s.receive(piece, &mut drop).unwrap());
        assert_eq!(s.last_body_bytes(), Some(length), "{text}");
    }
    let mut s = session("GET", 1);
    s.receive(b"HTTP/1.1 200 OK\r\n\r\nuntil the close", &mut drop).unwrap();
    s.peer_closed(&mut drop).unwrap();
    assert_eq!(s.last_body_bytes(), Some(15));
}

#[test]
fn responses_without_a_body_end_with_their_head() {
    for (method, text) in [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"),
    ] {
        assert_eq!(one(method, text).unwrap().completed, 1, "{text}");
    }
}

#[test]
fn impossible_statuses_and_lengths_have_their_reasons() {
    for (text, says) in [
        ("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", "a status below 100"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "a switch to another protocol"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "no number that a length can have"),
    ] {
        let fault = one("GET", text).unwrap_err().to_string();
        assert!(fault.contains(says), "{text}: {fault}");
    }
}

/// The server ends an idle connection with the status 408, which is not the answer to a request.
#[test]
fn a_408_on_an_idle_connection_is_named() {
    let mut s = session("GET", 0);
    let timeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(s.receive(timeout.as_bytes(), &mut drop), Ok(Progress::CLOSE));
    assert_eq!(s.close_words().as_deref(), Some("with status 408"));
    s.reset();
    assert_eq!(s.close_words(), None);
}

/// The answer of this test has more bytes than its head says, or has a body although its status allows none.
#[test]
fn a_surplus_body_fails_its_request_and_nothing_else() {
    let no_content = "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = format!("{CHUNKED}more");
    let surplus = "bytes after the last response";
    let bodyless = "a body after a status 204 or 304, which have none";
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nokmore";
    for (text, why) in [
        (format!("{OK}, world"), surplus),
        (no_content.into(), bodyless),
        (chunked, surplus),
        (closing.into(), surplus),
    ] {
        let mut told = Vec::new();
        let heard = session("GET", 1).receive(text.as_bytes(), &mut |done| told.push(done));
        assert_eq!((heard, told.len()), (Err(Fault::Malformed(why)), 0), "{text}");
    }
    assert_eq!(one("GET", &format!("{OK}\r\n")).unwrap().completed, 1, "an empty line");
    let mut told = Vec::new();
    let twice = session("GET", 1).receive(format!("{OK}{OK}").as_bytes(), &mut |done| told.push(done));
    assert!(matches!(twice, Err(Fault::Unasked(_))) && told.len() == 1, "a whole answer more");
}

#[test]
fn interim_responses_are_read_over() {
    let text = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{OK}");
    assert_eq!(one("GET", &text).unwrap().completed, 1);
    assert!(one("GET", "HTTP/1.1 101 Switching Protocols\r\n\r\n").is_err());
}

#[test]
fn requests_behind_an_announced_close_were_not_served() {
    let unframed = "HTTP/1.1 200 OK\r\n\r\nsome bytes";
    for text in [&OK.replace("Date: x", "Connection: close"), unframed] {
        let mut s = session("POST", 3);
        let mut told = Vec::new();
        let mut tell = |done: Done| told.push(done.outcome);
        s.receive(text.as_bytes(), &mut tell).unwrap();
        assert_eq!(
            s.peer_closed(&mut tell),
            Ok(Progress { completed: if text == unframed { 3 } else { 0 }, ..Progress::CLOSE })
        );
        let behind = Outcome::Failed(Fault::BehindClose);
        assert_eq!(told, [Outcome::Expected, behind, behind], "{text}");
    }
}

#[test]
fn an_answer_begins_with_its_first_byte() {
    let mut s = session("GET", 1);
    assert_eq!(s.is_answering(), Some(false));
    s.receive(b"H", &mut drop).unwrap();
    assert_eq!(s.is_answering(), Some(true));
    let mut begun = Vec::new();
    s.each_begun_answer(&mut |which, _| begun.push(which));
    assert_eq!(begun, [Which::Oldest]);
}

/// An interim response (status 103) is not the beginning of the answer.
#[test]
fn an_early_hint_is_no_first_byte() {
    let mut s = session("GET", 1);
    s.receive(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", &mut drop).unwrap();
    s.each_begun_answer(&mut |which, _| panic!("{which:?} has not begun"));
}

#[test]
fn the_close_delimits_where_nothing_else_does() {
    let mut s = session("GET", 1);
    let p = s.receive(b"HTTP/1.1 200 OK\r\n\r\nsome bytes", &mut drop).unwrap();
    assert_eq!(p.completed, 0);
    let p = s.peer_closed(&mut drop).unwrap();
    assert_eq!((p.completed, p.close), (1, true));
}

#[test]
fn a_short_body_and_an_early_close_are_short() {
    let mut s = session("GET", 1);
    s.receive(&OK.as_bytes()[..OK.len() - 1], &mut drop).unwrap();
    assert_eq!(s.peer_closed(&mut drop), Err(Fault::Short));
    assert_eq!(session("GET", 1).peer_closed(&mut drop), Err(Fault::Short));
    assert!(session("GET", 0).peer_closed(&mut drop).unwrap().close);
}

#[test]
fn other_protocols_and_limits_are_named() {
    assert!(matches!(one("GET", "SSH-2.0-x"), Err(Fault::Malformed(_))));
    assert!(matches!(one("GET", "HT"), Ok(p) if p.completed == 0));
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(1 << 20));
    assert!(matches!(one("GET", &long), Err(Fault::Limit(_))));
    assert!(matches!(one("GET", &format!("{OK}garbage")), Err(Fault::Malformed(_))));
}

#[test]
fn closing_is_announced() {
    assert!(one("GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap().close);
    assert!(one("GET", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap().close);
    let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
    assert!(!one("GET", kept).unwrap().close);
}

#[test]
fn a_remembered_head_says_the_same_for_another_method() {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(one("HEAD", text).unwrap().completed, 1);
    let mut s = session("GET", 1);
    assert_eq!(s.receive(text.as_bytes(), &mut drop).unwrap().completed, 0);
    assert_eq!(s.receive(b"abc", &mut drop).unwrap().completed, 1);
}

#[test]
fn only_a_set_with_places_or_cookies_is_filled_anew() {
    let is_fixed = |request: run::RequestPlan, order, templates| {
        let set = RequestSet { requests: vec![request], order, templates, ..RequestSet::default() };
        ClientPlan::with_set(&plan("GET", None), Some(&set)).unwrap().fixed()
    };
    let (plain, path) =
        (run::RequestPlan::default(), |path: &str| run::RequestPlan { path: path.into(), ..Default::default() });
    assert!(is_fixed(plain.clone(), RequestOrder::Weighted, true) && is_fixed(path("/a"), RequestOrder::Shuffle, true));
    assert!(is_fixed(path("/{{no"), RequestOrder::Weighted, false), "a form without places");
    assert!(
        !is_fixed(path("/{{seq}}"), RequestOrder::Weighted, true) && !is_fixed(plain, RequestOrder::Sequence, true)
    );
    // `e3tzZXF9fQ==` is `{{seq}}` in base64.
    let coded = run::RequestPlan { body_base64: "e3tzZXF9fQ==".into(), ..run::RequestPlan::default() };
    assert!(!is_fixed(coded, RequestOrder::Weighted, true));
}

#[test]
fn a_sequence_of_a_form_without_places_sends_braces_as_they_are() {
    let request = run::RequestPlan { path: "/".into(), body: "{{name}}".into(), ..run::RequestPlan::default() };
    let set = RequestSet { requests: vec![request], order: RequestOrder::Sequence, ..RequestSet::default() };
    let mut session = ClientPlan::with_set(&plan("POST", None), Some(&set)).unwrap().session();
    session.begin(Asked::default());
    let mut sent = [0; 512];
    let n = session.transmit(&mut sent);
    assert!(sent[..n].ends_with(b"\r\n\r\n{{name}}"), "{}", String::from_utf8_lossy(&sent[..n]));
}

proptest! {
    #[test]
    fn every_split_gives_the_same(cuts in prop::collection::vec(1_usize..60, 1..40)) {
        let stream = [OK, CHUNKED, OK, "HTTP/1.1 204 No\r\n\r\n", CHUNKED, OK].concat();
        let whole = session("GET", 6).receive(stream.as_bytes(), &mut drop).unwrap();
        let mut s = session("GET", 6);
        let mut pieces = Progress::default();
        let (mut rest, mut cuts) = (stream.as_bytes(), cuts.iter().cycle());
        while !rest.is_empty() {
            let n = rest.len().min(*cuts.next().unwrap());
            pieces.merge(s.receive(&rest[..n], &mut drop).unwrap());
            rest = &rest[n..];
        }
        prop_assert_eq!(whole, pieces);
        prop_assert_eq!(whole.completed, 6);
    }

    #[test]
    fn no_bytes_can_break_it(prefix in 0_usize..80, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut s = session("GET", 2);
        let stream = [OK, CHUNKED].concat();
        let good = &stream.as_bytes()[..prefix.min(stream.len())];
        if s.receive(good, &mut drop).is_ok() && s.receive(&bytes, &mut drop).is_ok() {
            let _ = s.peer_closed(&mut drop);
        }
    }
}

#[test]
fn a_trace_context_is_a_header_of_the_requests_that_have_one() {
    let mut session = ClientPlan::new(&plan("POST", None)).unwrap().session();
    let trace = crate::Trace::new(5);
    [trace, crate::Trace::NONE].into_iter().for_each(|trace| session.begin(Asked { trace, ..Asked::default() }));
    let (mut all, mut piece) = (Vec::new(), [0; 7]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    let text = String::from_utf8(all).unwrap();
    let (traced, plain) = text.split_at(text.find("\r\n\r\n").unwrap() + 4);
    let line = String::from_utf8(trace.line().to_vec()).unwrap();
    assert!(traced.ends_with(&format!("{line}\r\n")), "{traced}");
    assert_eq!(traced.replace(&line, ""), plain);
}
