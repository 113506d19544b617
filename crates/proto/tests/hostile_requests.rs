//! Test that runs `fuzz/fuzz_targets/http1_request.rs` for a short time. Mutated requests must never cause a panic, and
//! results must not depend on how the requests are split.

mod feed_http1_server;
mod mutated;

use feed_http1_server::{feed, requests};
use mutated::Random;

const SEEDS: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /none?a=%20 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\nHEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.0\r\n\r\n",
    "\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nMax-Forwards: 3\r\n\r\n",
    "GET http://h/ HTTP/1.1\r\nHost: other\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
];

#[test]
fn mutated_requests_never_panic_and_splits_never_matter() {
    let mut random = Random(0x10ad);
    let mut read = 0;
    for round in 0..20_000 {
        let bytes = random.mutate(SEEDS[round % SEEDS.len()]);
        let piece = 1 + random.below(40);
        let (whole, split) = (feed(&bytes, usize::MAX), feed(&bytes, piece));
        assert_eq!(whole, split, "pieces of {piece}: {:?}", String::from_utf8_lossy(&bytes));
        read += requests(&bytes);
    }
    assert!(read > 1000, "most mutations must leave a request that can be read, else this tests nothing");
}
