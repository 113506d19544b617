//! Any bytes as HTTP/1.1 requests: no panic, every byte read once, and the same answers however the bytes are split.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/served/mod.rs"]
mod served;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    served::requests(bytes);
    assert_eq!(served::served(bytes, usize::MAX), served::served(bytes, usize::from(piece)));
});
