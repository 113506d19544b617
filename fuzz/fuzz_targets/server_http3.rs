//! Sends random bytes to the streams of the server of `serve h3`, as if they came from a client. The streams are that
//! of a request, and unidirectional streams, such as the control stream. The server must not panic. Every way to split
//! the bytes into reads must give the same outcome: an answer, a refusal or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "shared with the targets of clients")]
#[path = "../../crates/proto/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let piece = usize::from(piece);
    assert_eq!(feed::http3_request(bytes, usize::MAX), feed::http3_request(bytes, piece));
    assert_eq!(feed::http3_client_streams(bytes, usize::MAX), feed::http3_client_streams(bytes, piece));
});
