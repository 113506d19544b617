//! Result of a request with a complete response.

use run::GRPC_STATUS;

use super::request::Prepared;
use super::request_template::TemplateState;
use super::stream::Stream;
use crate::events::NO_END;
use crate::{Fault, Outcome};

/// Returns the status of a response, and the outcome of its request.
pub(super) fn outcome_of_response(stream: &Stream, request: &Prepared) -> (u16, Outcome) {
    match outcome_of_http(stream.status, stream.length, stream.body, request) {
        Outcome::Failed(fault) => (stream.status, Outcome::Failed(fault)),
        _ if request.grpc => outcome_of_call(stream, request),
        outcome => (stream.status, outcome),
    }
}

/// Returns the outcome of a request by the status of its response and the length of the body in bytes. `length` is the
/// length that the headers announced, and `body` is the length that arrived.
pub(crate) fn outcome_of_http(status: u16, length: Option<u64>, body: u64, request: &Prepared) -> Outcome {
    let no_body = request.is_head || matches!(status, 204 | 304);
    if no_body && body > 0 {
        return Outcome::Failed(Fault::WrongBody("an answer with this status, or to HEAD, has no body"));
    }
    if length.is_some_and(|length| !no_body && length != body) {
        return Outcome::Failed(Fault::WrongBody("its length is not its content-length"));
    }
    if is_refusal(status, request) { Outcome::Unexpected } else { Outcome::Expected }
}

/// Returns the outcome of a request after its body was examined. `has_text` searches the body for the expected text.
/// `is_complete` is false if the body is a stream of events without its last event.
pub(crate) fn outcome_of_body(
    outcome: Outcome,
    request: &Prepared,
    has_text: impl FnOnce() -> bool,
    is_complete: bool,
) -> Outcome {
    match outcome {
        Outcome::Expected if request.expect_text.is_some() && !has_text() => {
            Outcome::Failed(Fault::WrongBody("the expected text is not in it"))
        }
        Outcome::Expected if !is_complete => Outcome::Failed(Fault::WrongBody(NO_END)),
        outcome => outcome,
    }
}

/// Returns the outcome of a request after its values were captured. `live` stores the captured values.
pub(crate) fn outcome_of_captures(outcome: Outcome, request: &Prepared, live: Option<&mut TemplateState>) -> Outcome {
    let is_complete = match live.filter(|_| !request.capture.is_empty()) {
        Some(live) => live.memory.complete(&request.capture),
        None => true,
    };
    match outcome {
        Outcome::Expected if !is_complete => Outcome::Failed(Fault::WrongBody("what is captured from it is not in it")),
        outcome => outcome,
    }
}

/// Returns true if the HTTP status of a response is not expected. The HTTP status of a gRPC call must always be 200;
/// the gRPC status of the call is judged separately.
pub(crate) fn is_refusal(status: u16, request: &Prepared) -> bool {
    match request.grpc {
        true => status != 200,
        false => !request.expected.takes(status),
    }
}

/// Returns the gRPC status of a call, and the outcome of its request. The answer to a gRPC call may be ordinary HTTP,
/// for example from a proxy. For answers in ordinary HTTP, the gRPC protocol assigns a gRPC status to each HTTP status.
fn outcome_of_call(stream: &Stream, request: &Prepared) -> (u16, Outcome) {
    let code = match (stream.grpc, stream.status) {
        (Some(code), _) => code,
        (None, 200) => {
            return (0, Outcome::Failed(Fault::WrongBody("an answer of gRPC without a grpc-status that is a number")));
        }
        (None, 400) => 13,
        (None, 401) => 16,
        (None, 403) => 7,
        (None, 404) => 12,
        (None, 429 | 502..=504) => 14,
        (None, _) => 2,
    };
    let status = GRPC_STATUS.saturating_add(code);
    match code {
        // Only a stream of messages, whose events are counted, may have no message.
        0 if stream.body == 0 && !request.is_examined => {
            (status, Outcome::Failed(Fault::WrongBody("an answer of gRPC with status 0 and no message")))
        }
        0 if !stream.messages.are_whole() => {
            (status, Outcome::Failed(Fault::WrongBody("a message of gRPC is not as long as its prefix says")))
        }
        0 if stream.messages.has_compressed() && !stream.is_gzip => {
            let why = "a message of gRPC is compressed, but not with gzip (grpc-encoding), which loadline accepts";
            (status, Outcome::Failed(Fault::WrongBody(why)))
        }
        0 => (status, Outcome::Expected),
        code if request.expected_call_status == Some(code) => (status, Outcome::Expected),
        _ => (status, Outcome::Unexpected),
    }
}
