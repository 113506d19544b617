//! Reads random bytes as a server's answer to reflection, and as a file that describes services. Nothing may panic. If
//! the file can be used, all types in it must have examples and encodings.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/descriptors/tests/feed/mod.rs"]
mod feed;

fuzz_target!(|input: (&[u8], &str)| {
    let (bytes, json) = input;
    feed::descriptors(bytes, json);
});
