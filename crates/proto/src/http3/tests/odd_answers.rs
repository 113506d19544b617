//! Servers whose answers are odd or wrong.

use quinn_proto::StreamId;
use run::HttpPlan;

use super::exchange::{Exchange, large_body_file, refusal};
use super::odd_server::{OddServer, framed, headers};
use crate::http3::frame::{CANCEL_PUSH, DATA, GOAWAY, HEADERS, MAX_PUSH_ID, SETTINGS};
use crate::http3::qpack::{QPACK, write_field};
use crate::{Fault, Outcome, Requester};

fn ok() -> Vec<u8> {
    headers(&[(":status", "200")])
}

/// Sends `answers` to as many requests, in pieces of `piece` bytes. Returns the results in the order of the requests.
fn outcomes(http: HttpPlan, answers: &[Vec<u8>], piece: usize) -> Vec<(u16, Outcome, u64)> {
    let (mut exchange, _) = Exchange::with(http);
    for (request, answer) in answers.iter().enumerate() {
        exchange.begin(request as u16);
        for part in answer.chunks(piece) {
            exchange.server.answer(request, part);
            exchange.settle();
        }
        exchange.server.end(request);
        exchange.settle();
    }
    assert_eq!(exchange.fault, None);
    exchange.done.iter().map(|done| (done.status, done.outcome, done.bytes)).collect()
}

/// Checks that each case ends the connection with the case's error code, and with a fault whose text contains the
/// case's words.
fn check(cases: Vec<(&str, u64, Vec<u8>)>) {
    for (words, code, answer) in cases {
        let act = |server: &mut OddServer, _: StreamId| {
            server.answer(0, &answer);
            server.end(0);
        };
        let (fault, sent) = refusal(act);
        assert!(fault.contains(words) && sent == code, "{fault:?} with {sent:#x} instead of {words:?} with {code:#x}");
    }
}

#[test]
fn interim_answers_and_trailers_are_no_answers() {
    let interim = |status: &str| headers(&[(":status", status), ("link", "</style.css>")]);
    let trailers = headers(&[("x-checksum", "abc")]);
    let length = headers(&[(":status", "200"), ("content-length", "5")]);
    let early = [interim("100"), interim("103"), interim("103"), length, framed(DATA, b"hello"), trailers].concat();
    let bare = [ok(), headers(&[("x-time", "1")])].concat();
    for piece in [1, 7, 1000] {
        let got = outcomes(HttpPlan::default(), &[early.clone(), bare.clone()], piece);
        assert_eq!(got, [(200, Outcome::Expected, 5), (200, Outcome::Expected, 0)], "{piece}");
    }
}

/// RFC 9114, section 4.1.2: an answer whose content-length contradicts its body is malformed. Only the request with the
/// malformed answer fails; the connection continues.
#[test]
fn a_length_that_contradicts_the_body_fails_only_its_request() {
    let answer = |length: &str, body: &[u8]| {
        [headers(&[(":status", "200"), ("content-length", length)]), framed(DATA, body)].concat()
    };
    let answers = [answer("5", b"hell"), answer("5", b"hello!"), answer("0", b"x"), answer("5", b"hello")];
    let got = outcomes(HttpPlan::default(), &answers, 1000);
    let failed = |outcome: Outcome| matches!(outcome, Outcome::Failed(Fault::WrongBody(_)));
    assert!(got.len() == 4 && got[..3].iter().all(|(_, outcome, _)| failed(*outcome)), "{got:?}");
    assert_eq!(got[3], (200, Outcome::Expected, 5));
    // An answer to HEAD, and one with status 204 or 304, has no body, whatever length its headers have.
    let with_body = [headers(&[(":status", "204")]), framed(DATA, b"hello")].concat();
    assert!(failed(outcomes(HttpPlan::default(), &[with_body], 1000)[0].1));
    let head = HttpPlan { method: "HEAD".into(), ..HttpPlan::default() };
    let length = headers(&[(":status", "200"), ("content-length", "500")]);
    assert_eq!(outcomes(head, &[length], 1000), [(200, Outcome::Expected, 0)]);
    let unchanged = headers(&[(":status", "304"), ("content-length", "500")]);
    assert_eq!(outcomes(HttpPlan::default(), &[unchanged], 1000), [(304, Outcome::Expected, 0)]);
}

#[test]
fn frames_in_the_wrong_order_end_the_connection() {
    const NOT_ALLOWED: &str = "at a place where it is not allowed";
    let (data, trailers, interim) = (framed(DATA, b"x"), headers(&[("a", "b")]), headers(&[(":status", "103")]));
    let mut cases = vec![
        (NOT_ALLOWED, 0x105, data.clone()),
        (NOT_ALLOWED, 0x105, [interim.clone(), data.clone()].concat()),
        (NOT_ALLOWED, 0x105, [ok(), trailers.clone(), data].concat()),
        (NOT_ALLOWED, 0x105, [ok(), trailers.clone(), trailers.clone()].concat()),
        ("trailers that are none", 0x10e, [ok(), interim.clone()].concat()),
        ("trailers that are none", 0x10e, [ok(), ok()].concat()),
        ("ended before its headers", 0x10e, Vec::new()),
        ("ended before its headers", 0x10e, interim),
        ("without :status", 0x10e, trailers),
        ("status 101", 0x10e, headers(&[(":status", "101")])),
    ];
    for kind in [SETTINGS, GOAWAY, CANCEL_PUSH, MAX_PUSH_ID, 2, 6, 8, 9] {
        cases.push((NOT_ALLOWED, 0x105, framed(kind, b"")));
        cases.push((NOT_ALLOWED, 0x105, [ok(), framed(kind, b"")].concat()));
    }
    check(cases);
}

#[test]
fn incomplete_frames_at_the_end_of_an_answer_end_the_connection() {
    let data = framed(DATA, b"hello");
    let cut = |length: usize| [ok(), data[..length].to_vec()].concat();
    let words = "incomplete or too long";
    check(vec![
        (words, 0x106, cut(1)),
        (words, 0x106, cut(2)),
        (words, 0x106, cut(6)),
        (words, 0x106, ok()[..3].to_vec()),
        // The answer ends with an unknown frame of the largest possible length, 2^62 - 1 bytes.
        (words, 0x106, [ok(), b"\x21\xff\xff\xff\xff\xff\xff\xff\xff".to_vec()].concat()),
    ]);
}

#[test]
fn malformed_headers_end_the_connection() {
    let block = |block: &[u8]| framed(HEADERS, block);
    let status = |more: (&str, &str)| headers(&[(":status", "200"), more]);
    let qpack = "(QPACK)";
    check(vec![
        (qpack, 0x200, block(b"")),
        (qpack, 0x200, block(b"\0")),
        (qpack, 0x200, block(b"\0\0\xff\x24")),
        (qpack, 0x200, block(b"\0\0\xd9\x54\x05")),
        (qpack, 0x200, block(b"\0\0\xd9\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")),
        // The padding after a Huffman-coded string must be a prefix of the end-of-string code (EOS). The padding in
        // this test is not a prefix of EOS.
        (qpack, 0x200, block(b"\0\0\x54\x81\0")),
        ("capitals", 0x10e, status(("X-Upper", "1"))),
        ("connections", 0x10e, status(("transfer-encoding", "chunked"))),
        ("CR, LF or NUL", 0x10e, status(("x", "a\nb"))),
        ("pseudo-header", 0x10e, status((":path", "/"))),
        ("more than one :status", 0x10e, status((":status", "200"))),
        ("behind other headers", 0x10e, headers(&[("a", "b"), (":status", "200")])),
        ("content-length", 0x10e, status(("content-length", "five"))),
        ("pseudo-header", 0x10e, [ok(), headers(&[(":path", "/")])].concat()),
    ]);
}

/// The client accepts at most 256 KiB of decoded headers, and announces this limit in its settings.
#[test]
fn headers_that_are_too_large_end_the_connection() {
    let mut many = QPACK.prefix.to_vec();
    write_field(&mut many, ":status", "200");
    // Each header takes one or two bytes on the wire, and more than 64 bytes when it is decoded.
    let long = ("access-control-allow-headers", "content-type");
    (0..5000).for_each(|_| write_field(&mut many, long.0, long.1));
    assert!(many.len() < 15_000, "{}", many.len());
    let huge = [ok()[..1].to_vec(), b"\x80\x05\0\0".to_vec(), vec![0; 300_000]].concat();
    check(vec![("256 KiB", 0x107, framed(HEADERS, &many)), ("256 KiB", 0x107, huge)]);
    // The client accepts large headers that are within the limit.
    let large: Vec<(&str, String)> = (0..15).map(|_| ("x-large", "v".repeat(15_000))).collect();
    let large: Vec<_> = large.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = headers(&[&[(":status", "200")], &large[..]].concat());
    assert_eq!(outcomes(HttpPlan::default(), &[answer], 5000), [(200, Outcome::Expected, 0)]);
}

/// RFC 9114, section 4.1: a server may answer before it has read the request, and then asks the client to stop. The
/// client does not discard an answer that arrives before the request is sent completely.
#[test]
fn an_answer_before_the_end_of_the_request_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let body_file = large_body_file(&dir);
    let http = HttpPlan { method: "POST".into(), body_file, ..HttpPlan::default() };
    let (mut exchange, _) = Exchange::with(http);
    exchange.server.reads_requests = false;
    // The server stops reading the first request, without reporting an error, and does not stop reading the second
    // request.
    for (request, stops) in [(0, true), (1, false)] {
        exchange.begin(request as u16);
        if stops {
            exchange.server.stop_reading(request, 0x100);
            exchange.settle();
        }
        assert_eq!(exchange.done.len(), request);
        exchange.server.answer(request, &[ok(), framed(DATA, b"early")].concat());
        exchange.server.end(request);
        exchange.settle();
        assert_eq!((exchange.fault, exchange.done.len()), (None, request + 1));
        assert_eq!((exchange.done[request].outcome, exchange.done[request].bytes), (Outcome::Expected, 5));
    }
    assert!(exchange.client.close_words().is_none(), "{:?}", exchange.client.close_words());
    // The client gave up only the second request.
    assert_eq!(exchange.reset(), [(exchange.server.requests[1], 0x10c)]);
}
