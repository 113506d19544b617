//! Sends random bytes to the streams of a client of h3://, as if they came from a server. The streams are those of
//! requests, and streams in one direction, such as the control stream. The client must not panic. Every way to split
//! the bytes into reads must give the same outcome: an error, or the same results.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "shared with the targets of servers")]
#[path = "../../crates/proto/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    for feed in [feed::http3_client, feed::http3_peer_streams] {
        let (whole, split) = (feed(bytes, usize::MAX), feed(bytes, usize::from(piece)));
        assert_eq!(whole.1, split.1);
        assert!(whole.1 || whole.0 == split.0);
    }
});
