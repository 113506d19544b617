//! Sends random bytes to the server of `serve ws`, as if they came from a client. The server must not panic. Every way
//! to split the bytes into reads must give the same outcome: an error, or the same results.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "shared with the targets of clients")]
#[path = "../../crates/proto/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let (whole, split) = (feed::server("ws", bytes, usize::MAX), feed::server("ws", bytes, usize::from(piece)));
    assert_eq!(whole.2, split.2);
    assert!(whole.2 || whole.0 == split.0);
});
