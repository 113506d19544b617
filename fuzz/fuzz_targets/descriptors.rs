//! Reads random bytes as a server's answer to reflection, and as a file that describes services. Nothing may panic. The
//! types of a file that can be used must have examples and encodings.
#![no_main]

use descriptors::Types;
use descriptors::reflection::{Collector, services};
use libfuzzer_sys::fuzz_target;
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

fuzz_target!(|input: (&[u8], &str)| {
    let (bytes, json) = input;
    let _ = services(bytes);
    let mut collector = Collector::new(["a.S"]);
    if collector.read(&[bytes]).is_ok() && collector.requests().is_empty() {
        use_types(collector.types().ok(), json);
    }
    use_types(FileDescriptorProto::decode(bytes).ok().and_then(|file| Types::new([file]).ok()), json);
    use_types(FileDescriptorSet::decode(bytes).ok().and_then(|set| Types::new(set.file).ok()), json);
});

fn use_types(types: Option<Types>, json: &str) {
    for method in types.iter().flat_map(Types::services).flat_map(|service| service.methods()) {
        let (_, example) = (method.message_types(), method.example());
        for text in [json, &example] {
            for message in method.encode(text).into_iter().flatten() {
                let _ = method.decode_answer(&message);
            }
        }
    }
}
