//! Sends random bytes to a client of event streams, as if they came from a server. The client must not panic. Every way
//! to split the bytes into reads must give the same events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use run::{StreamFormat, StreamPlan};

#[allow(dead_code, reason = "shared with the targets of servers")]
#[path = "../../crates/proto/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (piece, format, bytes) = input;
    let format = StreamFormat::ALL[usize::from(format) % StreamFormat::ALL.len()];
    let scheme = if format == StreamFormat::Grpc { "grpc" } else { "http" };
    let plan = StreamPlan { format, ..StreamPlan::default() };
    let fed = |piece: usize| feed::stream(scheme, Some(&plan), bytes, piece);
    let (whole, split) = (fed(usize::MAX), fed(usize::from(piece)));
    assert_eq!(whole.1, split.1);
    assert!(whole.1 || whole.0 == split.0);
});
