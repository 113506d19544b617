//! Messages of gRPC calls, encoded from JSON, and the check of the first answer to such a call.

use descriptors::{Sources, Types};
use run::{Address, EncodedCall, GrpcPlan, LoadPlan, Protocol};

use super::exchange::Exchange;
use super::reflection;

/// Maximum size of a file with JSON messages, bytes.
const MAX_JSON_BYTES: u64 = 64 << 20;
/// Maximum size of the first answer, bytes, if its messages are decompressed.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Returns the types in the files of a plan. If the plan names no such files, asks the server for the types of the
/// called service, or of all services if `all` is true. The error is a sentence with advice.
pub(crate) fn types(addr: Option<&Address>, plan: &LoadPlan, all: bool) -> Result<Types, String> {
    let Protocol::Grpc(call) = &plan.protocol else { return Err("only gRPC calls have types".into()) };
    let sources = Sources { protos: &call.proto_files, import_dirs: &call.proto_paths, sets: &call.descriptor_sets };
    if !sources.is_empty() {
        return descriptors::from_files(sources).map_err(|error| error.to_string());
    }
    let addr = addr.ok_or("name a server, or give --proto FILE or --protoset FILE")?;
    match all {
        true => reflection::types(addr, plan, None),
        false => {
            let (service, _) = descriptors::split_path(&call.path).map_err(|error| error.to_string())?;
            reflection::types(addr, plan, Some(service))
        }
    }
}

/// Returns the encoded messages of a plan's call, whose JSON is in the plan.
pub(super) fn encoded(addr: &Address, plan: &LoadPlan) -> Result<EncodedCall, String> {
    let Protocol::Grpc(call) = &plan.protocol else { return Err("only gRPC calls have types".into()) };
    encode(call, &types(Some(addr), plan, false)?)
}

/// Encodes the messages of a call with the given Protobuf types. The error is a sentence with advice.
pub(crate) fn encode(call: &GrpcPlan, types: &Types) -> Result<EncodedCall, String> {
    let json = json(call)?;
    let method = types.method(&call.path).map_err(|error| error.to_string())?;
    let messages = method.encode(&json).map_err(|error| error.to_string())?;
    let messages = messages.iter().map(|message| run::to_base64(message)).collect();
    Ok(EncodedCall { messages, streams_answers: method.streams_answers() })
}

/// Returns the JSON text of a call's messages, from its file if the plan names one.
pub(crate) fn json(call: &GrpcPlan) -> Result<String, String> {
    let text = call.json.clone().unwrap_or_default();
    match text.strip_prefix('@') {
        None => Ok(text),
        Some(file) => run::read_text(file.as_ref(), MAX_JSON_BYTES, "name a file with JSON messages")
            .map_err(|error| error.to_string()),
    }
}

/// Returns the number of bytes to keep of the first answer, if this answer is checked.
pub(super) fn max_kept_bytes(plan: &LoadPlan) -> Option<usize> {
    matches!(&plan.protocol, Protocol::Grpc(call) if call.gzip).then_some(MAX_ANSWER_BYTES)
}

/// Checks that compressed messages of the first answer can be decompressed. Answers are not decompressed during the
/// load, because this would cost CPU time, and no figure needs it.
pub(super) fn check_answer(plan: &LoadPlan, exchange: &Exchange, unexpected: bool) -> Result<(), String> {
    if unexpected || max_kept_bytes(plan).is_none() {
        return Ok(());
    }
    match proto::grpc::messages(exchange.answer.kept_body(), MAX_ANSWER_BYTES) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{error}; leave out --grpc-gzip")),
    }
}
