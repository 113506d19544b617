//! Any bytes as an HTTP/1.1 response: no panic, and the same outcome however the bytes are split.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/outcome/mod.rs"]
mod outcome;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let (whole, split) = (outcome::outcome(bytes, usize::MAX), outcome::outcome(bytes, usize::from(piece)));
    assert_eq!(whole.1.is_some(), split.1.is_some());
    if whole.1.is_none() {
        assert_eq!(whole.0, split.0);
    }
});
