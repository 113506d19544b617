//! Reads random bytes as a request that exports spans (steps of a trace), in both encodings (JSON and protobuf).
//! Nothing may panic. No span in the result may end before it begins, or have the trace ID 0.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spans::ReceivedSpan;

fuzz_target!(|bytes: &[u8]| {
    let mut check = |span: ReceivedSpan<'_>| assert!(span.trace != 0 && span.begin_ns <= span.end_ns);
    let _ = spans::decode::json(bytes, &mut check);
    let _ = spans::decode::protobuf(bytes, &mut check);
});
