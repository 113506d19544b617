//! Sends random bytes to a client of tcp:// that waits for a greeting (`--read-first`), with a random end of the
//! greeting. The client must not panic. Every way to split the bytes into reads must give the same outcome.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "shared with the targets of servers")]
#[path = "../../crates/proto/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (u8, &str, &[u8])| {
    let (piece, until, bytes) = input;
    assert_eq!(feed::greeting(until, bytes, usize::MAX), feed::greeting(until, bytes, usize::from(piece)));
});
