//! Reads random bytes as HTTP/1.1 responses. The client must not panic. Every way to split the bytes into reads must
//! give the same outcome: an error, or the same results.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/feed_http1_client/mod.rs"]
mod feed_http1_client;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let (whole, split) = (feed_http1_client::feed(bytes, usize::MAX), feed_http1_client::feed(bytes, usize::from(piece)));
    assert_eq!(whole.1.is_some(), split.1.is_some());
    if whole.1.is_none() {
        assert_eq!(whole.0, split.0);
    }
});
