//! Reads random bytes as HTTP/1.1 requests. The parser must not panic, and each step must consume bytes. Every way to
//! split the bytes into reads must give the same answers of the server.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/feed_http1_server/mod.rs"]
mod feed_http1_server;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    feed_http1_server::requests(bytes);
    assert_eq!(feed_http1_server::feed(bytes, usize::MAX), feed_http1_server::feed(bytes, usize::from(piece)));
});
