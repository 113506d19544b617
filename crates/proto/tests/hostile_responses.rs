//! Test that runs `fuzz/fuzz_targets/http1_response.rs` for a short time. Mutated responses must never cause a panic,
//! and results must not depend on how the responses are split.

mod feed_http1_client;
mod mutated;

use feed_http1_client::feed;
use mutated::Random;

const SEEDS: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the close",
    "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
    "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno!",
];

#[test]
fn mutated_responses_never_panic_and_splits_never_matter() {
    let mut random = Random(0x10ad);
    let mut completed = 0;
    for round in 0..20_000 {
        let bytes = random.mutate(SEEDS[round % SEEDS.len()]);
        let whole = feed(&bytes, usize::MAX);
        let piece = 1 + random.below(40);
        let split = feed(&bytes, piece);
        let same = whole.1.is_some() == split.1.is_some() && (whole.1.is_some() || whole.0 == split.0);
        assert!(same, "pieces of {piece}: {whole:?} against {split:?} for {:?}", String::from_utf8_lossy(&bytes));
        completed += whole.0.0.len();
    }
    assert!(completed > 1000, "most mutations must leave a response that can be read, else this tests nothing");
}
