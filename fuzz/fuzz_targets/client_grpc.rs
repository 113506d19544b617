//! Feeds a client of grpc:// with random bytes instead of a server's. The client must not panic. Wherever the bytes are
//! split into reads, the outcome must be the same: a fault, or the same results.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "shared with the targets of servers")]
#[path = "../../crates/proto/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let (whole, split) = (feed::client("grpc", bytes, usize::MAX), feed::client("grpc", bytes, usize::from(piece)));
    assert_eq!(whole.1, split.1);
    assert!(whole.1 || whole.0 == split.0);
});
