//! Test that runs the fuzz targets `client_*` and `server_*` for a short time. Mutated bytes must never cause a panic,
//! and results must not depend on how the bytes are split.

mod feed;
#[allow(dead_code, reason = "texts are mutated elsewhere")]
mod mutated;

use feed::{client, greeting, http3_client, http3_client_streams, http3_peer_streams, http3_request, server, stream};
use mutated::Random;
use run::{StreamFormat, StreamPlan};

/// An HTTP/2 answer on the first stream with a body and trailers, and further frames of a server.
const H2: &[u8] = b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88\x00\x00\x05\x00\x00\x00\x00\x00\x01hello\
    \x00\x00\x0f\x01\x05\x00\x00\x00\x01\x00\x0bgrpc-status\x010\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678\
    \x00\x00\x01\x01\x05\x00\x00\x00\x03\x8d\x00\x00\x04\x03\x00\x00\x00\x00\x05\x00\x00\x00\x07";
/// The bytes with which every HTTP/2 client begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The requests of an HTTP/2 client after [`PREFACE`].
const H2_ASKED: &[u8] = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\
    \x00\x00\x03\x01\x05\x00\x00\x00\x01\x82\x84\x86\x00\x00\x03\x01\x04\x00\x00\x00\x03\x83\x84\x86\
    \x00\x00\x02\x00\x01\x00\x00\x00\x03hi\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x09";
const WS: &[u8] = b"\x81\x05hello\x01\x01a\x89\x01p\x80\x02bc\x82\x7e\x00\x80................................................................\
    ................................................................\x88\x02\x03\xe8";
const HANDSHAKE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const WS_ASKED: &[u8] = b"\x81\x82\x01\x02\x03\x04ab\x89\x80\x01\x02\x03\x04\x88\x80\x01\x02\x03\x04";

/// Passes mutations of `seed` to `run`, each as a whole and in pieces, and compares the two results. Returns the number
/// of completed requests.
fn rounds<T: PartialEq + std::fmt::Debug>(
    begin: &[u8],
    seed: &[u8],
    run: impl Fn(&[u8], usize) -> (T, bool, usize),
) -> usize {
    let (mut random, mut completed) = (Random(0x10ad), 0);
    for _ in 0..4000 {
        let bytes = [begin, &random.mutate_bytes(seed)].concat();
        let (whole, split) = (run(&bytes, usize::MAX), run(&bytes, 1 + random.below(40)));
        assert_eq!(whole.1, split.1, "{bytes:?}");
        assert!(whole.1 || whole.0 == split.0, "{whole:?} against {split:?} for {bytes:?}");
        completed += whole.2;
    }
    completed
}

/// An answer of HTTP/3: an interim response, headers with a length of 5, an unknown frame, the body, and trailers.
const H3: &[u8] = b"\x01\x04\0\0\xff\0\x01\x06\0\0\xd9\x54\x015\x21\x02xx\0\x05hello\x01\x09\0\0\x23abc\x02de";

#[test]
fn mutated_answers_of_http3_never_panic_and_splits_never_matter() {
    let completed = rounds(b"", H3, |bytes, piece| {
        let (done, broken) = http3_client(bytes, piece);
        let n = done.len();
        (done, broken, n)
    });
    assert!(completed > 500, "{completed}; most mutations must leave an answer, else this tests nothing");
}

/// A request of HTTP/3: GET https:/ with a content-length of 5, an unknown frame, the body, and trailers.
const H3_ASKED: &[u8] = b"\x01\x08\0\0\xd1\xd7\xc1\x54\x015\x21\x02xx\0\x05hello\x01\x09\0\0\x23abc\x02de";

#[test]
fn mutated_requests_of_http3_never_panic_and_splits_never_matter() {
    assert_eq!(http3_request(H3_ASKED, usize::MAX), (true, false));
    let completed = rounds(b"", H3_ASKED, |bytes, piece| {
        let (answers, broken) = http3_request(bytes, piece);
        (answers, broken, usize::from(answers))
    });
    // Nearly every mutation contradicts a length: that of a frame, of a header, or of the body.
    assert!(completed > 100, "{completed}; some mutations must leave a request, else this tests nothing");
}

/// The control stream of a client: settings and an unknown frame. A client may open only one control stream.
#[test]
fn mutated_streams_of_a_client_of_http3_never_panic_and_splits_never_matter() {
    let mut read = 0;
    let (kind, seed): (&[u8], &[u8]) = (b"\0", b"\x04\x02\x01\x05\x21\x02xx");
    rounds(kind, seed, |bytes, piece| ((), http3_client_streams(bytes, piece), 0));
    rounds(b"\x21", seed, |bytes, piece| ((), http3_client_streams(bytes, piece), 0));
    for kind in 0..0x40 {
        read += usize::from(!http3_client_streams(&[kind], usize::MAX));
    }
    assert!(http3_client_streams(&[kind, seed].concat(), usize::MAX) && read > 50, "{read}");
}

/// A control stream of HTTP/3: settings, an unknown frame, and two GOAWAY frames that leave two of four requests.
const H3_CONTROL: &[u8] = b"\0\x04\x05\x06\x44\0\x21\x05\x21\x02xx\x07\x01\x0c\x07\x01\x08";

/// In this test, the same bytes arrive on two streams. HTTP/3 allows only one control stream, so without a mutation the
/// second stream is refused. Of two control streams with the same bytes, only the first one leaves requests
/// unprocessed.
#[test]
fn mutated_control_streams_of_http3_never_panic_and_splits_never_matter() {
    let mut refused = 0;
    let unprocessed = rounds(b"", H3_CONTROL, |bytes, piece| {
        let (done, broken) = http3_peer_streams(bytes, piece);
        let n = done.len();
        (done, broken, n)
    });
    assert!(unprocessed > 200, "{unprocessed}; hundreds of mutations must leave a GOAWAY, else this tests nothing");
    for kind in [b"\x02", b"\x03", b"\x21", b"\x01"] {
        rounds(kind, b"\x20\x20\x44\x7f\x80\x01", |bytes, piece| {
            let (done, broken) = http3_peer_streams(bytes, piece);
            (done, broken, 0)
        });
        refused += usize::from(http3_peer_streams(kind, 1).1);
    }
    assert_eq!(refused, 3, "two streams of QPACK of the same kind, and a push");
}

#[test]
fn mutated_answers_never_panic_and_splits_never_matter() {
    for (scheme, seed) in [
        ("h2c", H2),
        ("grpc", H2),
        ("ws", WS),
        ("redis", b"+OK\r\n*2\r\n$1\r\nx\r\n:5\r\n-ERR no\r\n%1\r\n+a\r\n_\r\n"),
        ("memcached", b"VALUE k 0 3\r\nabc\r\nEND\r\nSTORED\r\nERROR\r\n12\r\n"),
        (
            "postgres",
            b"T\0\0\0\x06\0\0D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x05\0Z\0\0\0\x05I\
              E\0\0\0\x17VERROR\0C40001\0Mno\0\0Z\0\0\0\x05IN\0\0\0\x05\0A\0\0\0\x05\0C\0\0\0\x05\0Z\0\0\0\x05I",
        ),
    ] {
        let completed = rounds(b"", seed, |bytes, piece| {
            let (done, broken) = client(scheme, bytes, piece);
            let n = done.len();
            (done, broken, n)
        });
        assert!(completed > 500, "{scheme}: {completed}; most mutations must leave an answer, else this tests nothing");
    }
}

/// Answers whose bodies are streams of events, with and without chunked coding.
const STREAMS: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n\
    c\r\n: wait\n\ndata\r\n6\r\n: b\n\n\n\r\n0\r\n\r\n\
    HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\ndata: c\r\n\r\n\n{}\ndata: d\n\n";

#[test]
fn mutated_streams_never_panic_and_splits_never_change_their_events() {
    // For gRPC, the text in the HTTP/2 answer is replaced by an empty gRPC message.
    let at = H2.windows(5).position(|five| five == b"hello").unwrap();
    let call = [&H2[..at], &[0; 5], &H2[at + 5..]].concat();
    for (scheme, formats, seed) in [
        ("http", &[StreamFormat::Sse, StreamFormat::Ndjson, StreamFormat::Chunks][..], STREAMS.as_bytes()),
        ("h2c", &[StreamFormat::Ndjson, StreamFormat::Chunks], H2),
        ("grpc", &[StreamFormat::Grpc], &call),
    ] {
        for format in formats {
            let plan = StreamPlan { format: *format, ..StreamPlan::default() };
            let events = rounds(b"", seed, |bytes, piece| {
                let (done, broken) = stream(scheme, Some(&plan), bytes, piece);
                let n = done.iter().map(|done| done.events as usize).sum();
                (done, broken, n)
            });
            assert!(events > 500, "{scheme} {format:?}: {events}; most mutations must leave an event");
        }
    }
}

#[test]
fn mutated_requests_never_panic_and_splits_never_matter() {
    for (service, begin, seed) in [
        ("h2", PREFACE, H2_ASKED),
        ("ws", HANDSHAKE, WS_ASKED),
        ("memcached", b"", b"set k 1 0 2\r\nhi\r\nget k j\r\nincr k 1\r\nversion\r\ndelete k noreply\r\nquit\r\n"),
        ("redis", b"", b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nSET a b\r\nPING\r\nGET a\r\nQUIT\r\n"),
    ] {
        let completed = rounds(begin, seed, |bytes, piece| {
            let (completed, _, ends) = server(service, bytes, piece);
            (completed, ends, completed as usize)
        });
        assert!(completed > 500, "{service}: {completed}");
    }
}

/// Greetings of an SMTP server and of a NATS server, whose ends are given in three ways.
#[test]
fn mutated_greetings_never_panic_and_splits_never_matter() {
    for until in ["line", "\r\n220 ", "24"] {
        let complete = rounds(b"", b"220-mail.example ESMTP\r\n220 INFO {}\r\n", |bytes, piece| {
            let (is_complete, broken) = greeting(until, bytes, piece).unwrap();
            (is_complete, broken, usize::from(is_complete))
        });
        assert!(complete > 500, "{until}: {complete}; most mutations must leave a greeting, else this tests nothing");
    }
}
