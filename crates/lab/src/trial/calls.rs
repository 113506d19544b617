//! gRPC calls whose messages the user gives as JSON. loadline encodes the messages of the calls once, before any load.

use run::{Address, EncodedCall, LoadPlan, Plan, Protocol, ServerQuestion, TlsPlan};

use crate::trial::asker::Asker;
use crate::trial::authorized::check_authorized;
use crate::trial::target::resolve;
use crate::{Lab, LabError, preflight};

/// Name of the failed task in the error messages of this file.
const TASK: &str = "encoding the messages of --grpc-json";

/// Encodes the messages of a gRPC call, if the plan has them as JSON. Proto files and descriptor sets are read on this
/// host. If the plan names no such files, the host that generates the load asks the server for the types.
pub(super) fn encode(
    lab: &mut Lab<'_>,
    addr: &Address,
    load: &mut LoadPlan,
    asker: &Asker<'_>,
) -> Result<(), LabError> {
    let Protocol::Grpc(call) = &load.protocol else { return Ok(()) };
    if call.json.is_none() || !call.messages.is_empty() {
        return Ok(());
    }
    let fail = |why: String| LabError::set_up(TASK, why);
    let encoded = match call.proto_files.is_empty() && call.descriptor_sets.is_empty() {
        true => reflected(lab, addr, load, asker),
        false => preflight::calls::types(None, load, false).and_then(|types| preflight::calls::encode(call, &types)),
    };
    let encoded = encoded.map_err(fail)?;
    if encoded.streams_answers && load.stream.is_none() {
        lab.note("the method streams its answers; --stream grpc times each message");
    }
    if let Protocol::Grpc(call) = &mut load.protocol {
        call.messages = encoded.messages;
    }
    Ok(())
}

/// Lets the host that generates the load ask the server for the message types of a gRPC call. With these types, the
/// same host encodes the messages of the call.
fn reflected(lab: &Lab<'_>, addr: &Address, load: &LoadPlan, asker: &Asker<'_>) -> Result<EncodedCall, String> {
    let mut asked = load.clone();
    if let Protocol::Grpc(call) = &mut asked.protocol {
        call.json = Some(preflight::calls::json(call)?);
    }
    let answer = asker.ask(lab, ServerQuestion::EncodedCall, addr, &asked);
    answer.call.ok_or_else(|| answer.error.unwrap_or_else(|| "no answer came".into()))
}

/// Returns the types of a gRPC server, from the files of the plan or by reflection. If the plan names files with types,
/// its target may be empty.
pub fn call_types(plan: &Plan) -> Result<descriptors::Types, LabError> {
    let url = &plan.target.url;
    let fail = |why: String| LabError::set_up("reading the types of a gRPC server", why);
    if url.is_empty() {
        return preflight::calls::types(None, &plan.load, true).map_err(fail);
    }
    let found = resolve(url, &plan.load.protocol)?;
    check_authorized(url, &found.addr, plan.target.authorized)?;
    let tls = found.tls_name.map(|server_name| TlsPlan { server_name, ..plan.load.tls.clone().unwrap_or_default() });
    let load = LoadPlan { protocol: found.protocol, tls, ..plan.load.clone() };
    preflight::calls::types(Some(&found.addr), &load, true).map_err(fail)
}
