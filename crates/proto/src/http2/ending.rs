//! How a response counts, once it is complete.

use run::GRPC_STATUS;

use super::request::Prepared;
use super::stream::Stream;
use crate::{Fault, Outcome};

/// Bytes before each message of gRPC: whether it is compressed, and its length.
pub(super) const PREFIX: u64 = 5;

/// The status of a response and how its request ended.
pub(super) fn ending(stream: &Stream, request: &Prepared) -> (u16, Outcome) {
    let no_body = request.is_head || matches!(stream.status, 204 | 304);
    if stream.length.is_some_and(|length| !no_body && length != stream.body) {
        return (stream.status, Outcome::Failed(Fault::WrongBody("its length is not its content-length")));
    }
    if request.grpc {
        return of_call(stream, request.expect_status);
    }
    let right = (200..400).contains(&stream.status) || request.expect_status == Some(stream.status);
    (stream.status, if right { Outcome::Expected } else { Outcome::Unexpected })
}

/// The same of a call of gRPC. An answer of HTTP alone, by a proxy say, stands for what the gRPC protocol maps it to.
fn of_call(stream: &Stream, expected: Option<u16>) -> (u16, Outcome) {
    let code = match (stream.grpc, stream.status) {
        (Some(code), _) => code,
        (None, 200) => return (0, Outcome::Failed(Fault::WrongBody("an answer of gRPC without grpc-status"))),
        (None, 400) => 13,
        (None, 401) => 16,
        (None, 403) => 7,
        (None, 404) => 12,
        (None, 429 | 502..=504) => 14,
        (None, _) => 2,
    };
    let status = GRPC_STATUS.saturating_add(code);
    match code {
        0 if stream.body < PREFIX => {
            (status, Outcome::Failed(Fault::WrongBody("an answer of gRPC with status 0 and no message")))
        }
        0 => (status, Outcome::Expected),
        code if expected == Some(code) => (status, Outcome::Expected),
        _ => (status, Outcome::Unexpected),
    }
}
