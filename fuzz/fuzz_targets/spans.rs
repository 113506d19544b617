//! Any bytes as a request to export spans, in both encodings: no panic, and no span that ends before it begins.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spans::ReceivedSpan;

fuzz_target!(|bytes: &[u8]| {
    let mut check = |span: ReceivedSpan<'_>| assert!(span.trace != 0 && span.begin_ns <= span.end_ns);
    let _ = spans::decode::json(bytes, &mut check);
    let _ = spans::decode::protobuf(bytes, &mut check);
});
