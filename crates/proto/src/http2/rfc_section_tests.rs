//! Tests of the HTTP/2 client, in the order of the sections of RFC 9113. A forbidden frame must end the connection or
//! reset its stream, with the error code that the RFC demands. The client must skip input that it need not understand
//! according to the RFC. The client mode of the test suite h2spec has 57 further cases (crate cli, test `go_peers`).

use super::frame::{self, *};
use super::hpack::write_fields;
use super::tests::{OK, begin, frames, receive, sent, settled};
use crate::{Done, Fault, Outcome, Requester as _};

/// Builds an HTTP/2 frame.
fn f(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, kind, flags, stream, payload);
    bytes
}

/// Builds a complete HEADERS frame for the first stream. The frame contains the header fields `fields`.
fn fields(flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    f(HEADERS, END_HEADERS | flags, 1, &write_fields(fields.iter().copied()))
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write_settings(&mut bytes, &[(name, value)]);
    bytes
}

/// Sends bytes to a client that has one request in flight. Returns the completed requests, or the fault and the error
/// code in the client's GOAWAY.
fn run_client(bytes: &[u8]) -> Result<Vec<Done>, (Fault, u32)> {
    let mut session = settled(&[]);
    begin(&mut session, 1);
    let (progress, ended) = receive(&mut session, bytes);
    let Err(fault) = progress else { return Ok(ended) };
    let said = frames(&sent(&mut session));
    let (kind, _, stream, payload) = said.last().expect("a farewell");
    assert_eq!((*kind, *stream, payload[..4].to_vec()), (GOAWAY, 0, vec![0; 4]), "{fault}");
    assert!(!session.takes_more());
    Err((fault, frame::number(&payload[4..]).unwrap()))
}

const PROTOCOL: u32 = PROTOCOL_ERROR;
const SIZE: u32 = FRAME_SIZE_ERROR;
const FLOW: u32 = FLOW_CONTROL_ERROR;

/// Checks that the bytes of each case end the connection with the error code of the case.
#[track_caller]
fn end_with(cases: Vec<(&str, Vec<u8>, u32)>) {
    for (section, bytes, code) in cases {
        match run_client(&bytes) {
            Err((fault, said)) => assert_eq!(said, code, "{section}: {fault}"),
            Ok(ended) => panic!("{section}: taken, {ended:?}"),
        }
    }
}

#[test]
fn frames_that_the_rfc_forbids_end_the_connection_with_its_error_code() {
    let ok = || f(HEADERS, END_HEADERS, 1, &[OK]);
    let over = || f(HEADERS, END_HEADERS | END_STREAM, 1, &[OK]);
    let cases: Vec<(&str, Vec<u8>, u32)> = vec![
        ("4.2 a frame of more than 2^14", f(DATA, 0, 1, &[0; 16_385]), SIZE),
        ("4.2 HEADERS of more than 2^14", f(HEADERS, END_HEADERS, 1, &[OK; 16_385]), SIZE),
        ("4.3 a block that does not end", f(HEADERS, END_HEADERS, 1, &[0x40]), COMPRESSION_ERROR),
        ("4.3 an entry that is not there", f(HEADERS, END_HEADERS, 1, &[0xff, 0x7f]), COMPRESSION_ERROR),
        ("4.3 a table beyond its limit", f(HEADERS, END_HEADERS, 1, &[0x3f, 0xe2, 0x1f, OK]), COMPRESSION_ERROR),
        ("4.3 a new table size behind a header", f(HEADERS, END_HEADERS, 1, &[OK, 0x20]), COMPRESSION_ERROR),
        ("4.3 another stream within a block", [f(HEADERS, 0, 1, &[OK]), f(HEADERS, 4, 3, &[OK])].concat(), PROTOCOL),
        ("4.3 DATA within a block", [ok(), f(HEADERS, 1, 1, &[OK]), f(DATA, 1, 1, b"x")].concat(), PROTOCOL),
        ("4.3 an unknown frame within a block", [f(HEADERS, 0, 1, &[OK]), f(0x16, 0, 0, b"")].concat(), PROTOCOL),
        ("5.1 idle: DATA", f(DATA, END_STREAM, 3, b"x"), PROTOCOL),
        ("5.1 idle: HEADERS", f(HEADERS, END_HEADERS, 3, &[OK]), PROTOCOL),
        ("5.1 idle: RST_STREAM", f(RST_STREAM, 0, 3, &[0; 4]), PROTOCOL),
        ("5.1 idle: WINDOW_UPDATE", f(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 1]), PROTOCOL),
        ("5.1 closed: DATA", [over(), f(DATA, 0, 1, b"x")].concat(), STREAM_CLOSED),
        ("5.1 closed: HEADERS", [over(), over()].concat(), STREAM_CLOSED),
        ("5.1 reset: DATA", [f(RST_STREAM, 0, 1, &[0; 4]), f(DATA, 0, 1, b"x")].concat(), STREAM_CLOSED),
        ("5.1.1 a stream of the server's", f(HEADERS, END_HEADERS, 2, &[OK]), PROTOCOL),
        ("6.1 DATA of no stream", f(DATA, 0, 0, b"x"), PROTOCOL),
        ("6.1 more padding than DATA", [ok(), f(DATA, PADDED, 1, &[4, 1, 2])].concat(), PROTOCOL),
        ("6.2 HEADERS of no stream", f(HEADERS, END_HEADERS, 0, &[OK]), PROTOCOL),
        ("6.2 more padding than HEADERS", f(HEADERS, END_HEADERS | PADDED, 1, &[4, OK]), PROTOCOL),
        ("6.2 a priority without its bytes", f(HEADERS, END_HEADERS | PRIORITY, 1, &[0; 4]), PROTOCOL),
        ("6.3 PRIORITY of no stream", f(PRIORITY_FRAME, 0, 0, &[0; 5]), PROTOCOL),
        ("6.3 PRIORITY of four bytes", f(PRIORITY_FRAME, 0, 1, &[0; 4]), SIZE),
        ("6.4 RST_STREAM of no stream", f(RST_STREAM, 0, 0, &[0; 4]), PROTOCOL),
        ("6.4 RST_STREAM of three bytes", f(RST_STREAM, 0, 1, &[0; 3]), SIZE),
        ("6.5 SETTINGS of a stream", f(SETTINGS, 0, 1, &[]), PROTOCOL),
        ("6.5 an ACK with settings", f(SETTINGS, ACK, 0, &[0; 6]), SIZE),
        ("6.5 SETTINGS of seven bytes", f(SETTINGS, 0, 0, &[0; 7]), SIZE),
        ("6.5.2 a server that lets itself be pushed to", setting(ENABLE_PUSH, 1), PROTOCOL),
        ("6.5.2 ENABLE_PUSH of 2", setting(ENABLE_PUSH, 2), PROTOCOL),
        ("6.5.2 INITIAL_WINDOW_SIZE of 2^31", setting(INITIAL_WINDOW_SIZE, 1 << 31), FLOW),
        ("6.5.2 MAX_FRAME_SIZE of 2^14-1", setting(MAX_FRAME_SIZE, 16_383), PROTOCOL),
        ("6.5.2 MAX_FRAME_SIZE of 2^24", setting(MAX_FRAME_SIZE, 1 << 24), PROTOCOL),
        ("6.6 PUSH_PROMISE, which was refused", f(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, OK]), PROTOCOL),
        ("6.7 PING of a stream", f(PING, 0, 1, &[0; 8]), PROTOCOL),
        ("6.7 PING of six bytes", f(PING, 0, 0, &[0; 6]), SIZE),
        ("6.8 GOAWAY of a stream", f(GOAWAY, 0, 1, &[0; 8]), PROTOCOL),
        ("6.8 GOAWAY of four bytes", f(GOAWAY, 0, 0, &[0; 4]), SIZE),
        ("6.9 no WINDOW_UPDATE at all", f(WINDOW_UPDATE, 0, 0, &[0; 4]), PROTOCOL),
        ("6.9 none on a stream", f(WINDOW_UPDATE, 0, 1, &[0; 4]), PROTOCOL),
        ("6.9 WINDOW_UPDATE of three bytes", f(WINDOW_UPDATE, 0, 0, &[0, 0, 1]), SIZE),
        ("6.9.1 a window above 2^31-1", f(WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255]), FLOW),
        ("6.9.1 a stream's window above it", f(WINDOW_UPDATE, 0, 1, &[0x7f, 255, 255, 255]), FLOW),
        ("6.10 CONTINUATION of nothing", f(CONTINUATION, END_HEADERS, 1, &[OK]), PROTOCOL),
        ("6.10 CONTINUATION behind a whole block", [ok(), f(CONTINUATION, 4, 1, &[OK])].concat(), PROTOCOL),
        (
            "6.10 CONTINUATION of another stream",
            [f(HEADERS, 0, 1, &[OK]), f(CONTINUATION, 4, 3, &[])].concat(),
            PROTOCOL,
        ),
    ];
    end_with(cases);
}

#[test]
fn messages_that_the_rfc_forbids_reset_the_stream_or_end_the_connection() {
    let ok = || f(HEADERS, END_HEADERS, 1, &[OK]);
    let over = || f(HEADERS, END_HEADERS | END_STREAM, 1, &[OK]);
    let block = |more: &[(&str, &str)]| fields(END_STREAM, &[&[(":status", "200")], more].concat());
    let cases: Vec<(&str, Vec<u8>, u32)> = vec![
        ("8.1 DATA before HEADERS", f(DATA, 0, 1, b"x"), PROTOCOL),
        ("8.1 trailers that end nothing", [ok(), fields(0, &[("a", "b")])].concat(), PROTOCOL),
        ("8.1 a second response", [ok(), over()].concat(), PROTOCOL),
        ("8.1 an interim response that ends", fields(END_STREAM, &[(":status", "103")]), PROTOCOL),
        (
            "8.1 DATA behind an interim response",
            [fields(0, &[(":status", "103")]), f(DATA, 1, 1, b"")].concat(),
            PROTOCOL,
        ),
        ("8.1.1 a length that is no number", block(&[("content-length", "2x")]), PROTOCOL),
        ("8.1.1 two lengths", block(&[("content-length", "2"), ("content-length", "3")]), PROTOCOL),
        ("8.2 capitals", block(&[("X-A", "b")]), PROTOCOL),
        ("8.2.1 a space in a name", block(&[("a b", "c")]), PROTOCOL),
        ("8.2.1 no name", block(&[("", "c")]), PROTOCOL),
        ("8.2.1 a line end in a value", block(&[("a", "b\r\nc: d")]), PROTOCOL),
        ("8.2.2 connection", block(&[("connection", "close")]), PROTOCOL),
        ("8.2.2 transfer-encoding", block(&[("transfer-encoding", "chunked")]), PROTOCOL),
        ("8.3 a pseudo-header of requests", block(&[(":path", "/")]), PROTOCOL),
        ("8.3 a pseudo-header in trailers", [ok(), fields(END_STREAM, &[(":status", "200")])].concat(), PROTOCOL),
        ("8.3 :status behind a header", fields(END_STREAM, &[("a", "b"), (":status", "200")]), PROTOCOL),
        ("8.3.2 no :status", fields(END_STREAM, &[("a", "b")]), PROTOCOL),
        ("8.3.2 two :status", block(&[(":status", "200")]), PROTOCOL),
        ("8.3.2 a :status that is none", fields(END_STREAM, &[(":status", "2000")]), PROTOCOL),
        ("8.6 a protocol that is switched to", fields(0, &[(":status", "101")]), PROTOCOL),
        ("10.5 a block without end", [f(HEADERS, 0, 1, &[OK]), f(CONTINUATION, 0, 1, b"")].concat(), ENHANCE_YOUR_CALM),
    ];
    end_with(cases);
}

#[test]
fn input_that_the_rfc_tolerates_is_skipped() {
    let right = || f(HEADERS, END_HEADERS | END_STREAM, 1, &[OK]);
    let padded = [&[3][..], &[0; 5], &[OK], &[0; 3]].concat();
    let sized = |body: &[u8]| [fields(0, &[(":status", "200"), ("content-length", "2")]), f(DATA, 1, 1, body)].concat();
    let last = |payload: &[u8]| f(GOAWAY, 0, 0, payload);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("4.1 a kind that nobody knows", f(0x16, 0xff, 9, &[7; 100])),
        ("4.1 flags that mean nothing", f(PING, 0xfe, 0, &[0; 8])),
        ("4.1 a bit that means nothing", f(PING, 0, 1 << 31, &[0; 8])),
        ("5.3 a priority", f(PRIORITY_FRAME, 0, 1, &[0, 0, 0, 3, 9])),
        ("5.3 of a stream that is not there", f(PRIORITY_FRAME, 0, 99, &[0, 0, 0, 3, 9])),
        ("6.5 a setting that nobody knows", setting(0xfefe, 7)),
        ("6.5.2 no push", setting(ENABLE_PUSH, 0)),
        ("6.5.3 an ACK", f(SETTINGS, ACK, 0, &[])),
        ("6.7 the answer to a PING", f(PING, ACK, 0, &[0; 8])),
        ("6.8 a server that leaves later", last(&[0x7f, 255, 255, 255, 0, 0, 0, 0])),
        ("6.9.1 the largest window", f(WINDOW_UPDATE, 0, 0, &(0x7fff_ffff_u32 - 65_535).to_be_bytes())),
        ("8.1 interim responses", fields(0, &[(":status", "100")]).repeat(2)),
    ];
    let expected = [Outcome::Expected].to_vec();
    let outcomes =
        |bytes: &[u8]| run_client(bytes).map(|all| all.into_iter().map(|done| done.outcome).collect::<Vec<_>>());
    for (section, bytes) in cases {
        assert_eq!(outcomes(&[bytes, right()].concat()), Ok(expected.clone()), "{section}");
    }
    let trailers = fields(END_STREAM, &[("a", "b")]);
    let wholes: Vec<(&str, Vec<u8>)> = vec![
        ("4.2 DATA of 2^14", [f(HEADERS, END_HEADERS, 1, &[OK]), f(DATA, 1, 1, &[0; 16_384])].concat()),
        ("6.2 padding and a priority", f(HEADERS, END_HEADERS | END_STREAM | PADDED | PRIORITY, 1, &padded)),
        ("6.10 a block in pieces", [f(HEADERS, END_STREAM, 1, &[]), f(CONTINUATION, END_HEADERS, 1, &[OK])].concat()),
        ("8.1 trailers", [f(HEADERS, END_HEADERS, 1, &[OK]), f(DATA, 0, 1, b"x"), trailers].concat()),
        ("8.1.1 the length that was said", sized(b"ab")),
        (
            "8.1.1 twice the same",
            fields(END_STREAM, &[(":status", "200"), ("content-length", "0"), ("content-length", "0")]),
        ),
    ];
    for (section, bytes) in wholes {
        assert_eq!(outcomes(&bytes), Ok(expected.clone()), "{section}");
    }
    for (section, body) in [("8.1.1 less than was said", &b"a"[..]), ("8.1.1 more", b"abc")] {
        let ended = outcomes(&sized(body));
        assert!(matches!(ended.as_deref(), Ok([Outcome::Failed(Fault::WrongBody(_))])), "{section}: {ended:?}");
    }
}

#[test]
fn a_window_that_runs_over_is_told_of_its_stream_too() {
    let mut session = settled(&[]);
    begin(&mut session, 2);
    let (progress, _) = receive(&mut session, &f(WINDOW_UPDATE, 0, 3, &[0x7f, 255, 255, 255]));
    assert!(progress.is_err());
    let code = FLOW.to_be_bytes().to_vec();
    assert_eq!(frames(&sent(&mut session))[0], (RST_STREAM, 0, 3, code));
}
