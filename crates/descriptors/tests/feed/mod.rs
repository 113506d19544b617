//! A function that reads one input in three ways: as an answer of server reflection, as one compiled proto file, and as
//! a set of such files. A test in `tests` and a fuzz target call this function.

use descriptors::Types;
use descriptors::reflection::{Collector, services};
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

/// Reads `bytes` as an answer of server reflection, as one compiled proto file, and as a set of compiled proto files.
/// Encodes `json` as a message of every method that can be built from the bytes. Returns the number of these methods.
pub(crate) fn descriptors(bytes: &[u8], json: &str) -> usize {
    let _ = services(bytes);
    let mut collector = Collector::new(["p.S"]);
    let is_complete = collector.read(&[bytes]).is_ok() && collector.requests().is_empty();
    let collected = if is_complete { collector.types().ok() } else { None };
    let of_file = FileDescriptorProto::decode(bytes).ok().and_then(|file| Types::new([file]).ok());
    let of_set = FileDescriptorSet::decode(bytes).ok().and_then(|set| Types::new(set.file).ok());
    [collected, of_file, of_set].into_iter().flatten().map(|types| use_types(&types, json)).sum()
}

fn use_types(types: &Types, json: &str) -> usize {
    let mut used = 0;
    for method in types.services().iter().flat_map(|service| service.methods()) {
        let (_, example) = (method.message_types(), method.example());
        for text in [json, &example] {
            for message in method.encode(text).into_iter().flatten() {
                let _ = method.decode_answer(&message);
            }
        }
        used += 1;
    }
    used
}
