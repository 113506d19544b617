//! Asks a gRPC server for the types of its services, with the protocol of server reflection. Each call uses its own
//! connection, and its messages are sent at once.

use descriptors::Types;
use descriptors::reflection::{Collector, MAX_ANSWER_BYTES, PATHS, list_request, services};
use run::{Address, GRPC_STATUS, GrpcPlan, LoadPlan, Protocol};

use super::one_exchange::exchanged;

/// Status `UNIMPLEMENTED` of gRPC: the server does not offer the method.
const UNIMPLEMENTED: u16 = GRPC_STATUS + 12;

/// Returns the types of one service of a server, or without a name, of all its services. The error is a sentence with
/// advice.
pub(super) fn types(addr: &Address, plan: &LoadPlan, service: Option<&str>) -> Result<Types, String> {
    let (path, all) = offered(addr, plan)?;
    if let Some(name) = service
        && !all.iter().any(|known| known == name)
    {
        return Err(unknown(name, &all));
    }
    let wanted = all.iter().map(String::as_str).filter(|name| service.is_none_or(|service| service == *name));
    let mut collector = Collector::new(wanted);
    while let questions @ [_, ..] = &collector.requests()[..] {
        let answers = call(addr, plan, path, questions)?.ok_or(
            "the server offered reflection at first, but no longer does; try again, or give --proto or --protoset",
        )?;
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        collector.read(&answers).map_err(|error| error.to_string())?;
    }
    collector.types().map_err(|error| error.to_string())
}

/// Returns the path of the version of reflection that the server offers, and the names of its services.
fn offered(addr: &Address, plan: &LoadPlan) -> Result<(&'static str, Vec<String>), String> {
    for path in PATHS {
        if let Some(answers) = call(addr, plan, path, &[list_request()])? {
            let answer = answers.first().ok_or("the server answered reflection with no message")?;
            return Ok((path, services(answer).map_err(|error| error.to_string())?));
        }
    }
    Err("the server offers no reflection; give the types of the messages by --proto FILE or --protoset FILE".into())
}

/// Makes one call of reflection, and returns the messages of the answer. Returns `None` if the server does not offer
/// this version of reflection.
fn call(addr: &Address, plan: &LoadPlan, path: &str, messages: &[Vec<u8>]) -> Result<Option<Vec<Vec<u8>>>, String> {
    let Protocol::Grpc(own) = &plan.protocol else { return Err("only gRPC servers have reflection".into()) };
    let call = GrpcPlan {
        path: path.into(),
        host: own.host.clone(),
        headers: own.headers.clone(),
        messages: messages.iter().map(|message| run::to_base64(message)).collect(),
        ..GrpcPlan::default()
    };
    let plan = LoadPlan { protocol: Protocol::Grpc(call), stream: None, traceparent: 0.0, ..plan.clone() };
    let (exchange, unexpected) = exchanged(addr, &plan, "", Some(MAX_ANSWER_BYTES)).map_err(|why| {
        format!("reflection ({path}) failed: {why}; --proto FILE and --protoset FILE need no reflection")
    })?;
    if exchange.status == UNIMPLEMENTED {
        return Ok(None);
    }
    if unexpected {
        let why = exchange.said.unwrap_or_else(|| run::status_name(exchange.status).into_owned());
        return Err(format!("the server refuses reflection: {why}; give --proto FILE or --protoset FILE instead"));
    }
    let answers = proto::grpc::messages(exchange.answer.kept_body(), MAX_ANSWER_BYTES);
    answers.map(Some).map_err(|error| format!("the server's answer to reflection is wrong or too long: {error}"))
}

/// Describes a service that the server does not have.
fn unknown(name: &str, all: &[String]) -> String {
    let near = run::nearest(name, all.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
    format!("the server has no service {name}{near}; it has {}", descriptors::listed(all.iter().map(String::as_str)))
}
