//! Entry of HTTP/2 in the table of protocols.

use run::{Protocol, RequestSet};

use super::ClientPlan;
use super::frame;
use crate::ProtoError;
use crate::http1;
use crate::row::{ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "http2",
    help: "HTTP/2, with --streams requests at once on a connection; status, length and framing are checked",
    schemes: &[
        Scheme { name: "h2", port: Some(443), path: true, tls: true },
        Scheme { name: "h2c", port: Some(80), path: true, tls: false },
    ],
    alpn: "h2",
    defaults: || http1::to_http2(Protocol::default()),
    one_request: |_| {},
    takes: |_| false,
    without_network: http1::to_http1,
    canned,
    ..http1::SPEC
};

/// Checks the user's settings of HTTP/2, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol, requests: Option<&RequestSet>) -> Result<ClientPlan, ProtoError> {
    ClientPlan::with_set(plan, requests)
}

/// Returns prepared bytes of a server, for measurements without a server. If `request` is empty, returns the server's
/// first bytes. If `request` is not empty, returns an answer on the first stream.
fn canned(_: &Protocol, request: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    if request.is_empty() {
        frame::write_settings(&mut answer, &[]);
    } else {
        frame::write_block(&mut answer, 1, frame::END_STREAM, &[0x88]);
    }
    answer
}

/// Returns prepared bytes of a gRPC server, for measurements without a server. If `request` is empty, returns the
/// server's first bytes. If `request` is not empty, returns the answer to a call on the first stream.
pub(crate) fn canned_call(request: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    if request.is_empty() {
        frame::write_settings(&mut answer, &[]);
        return answer;
    }
    frame::write_block(&mut answer, 1, 0, &[0x88]);
    frame::write(&mut answer, frame::DATA, 0, 1, &[0; 5]);
    let mut trailers = Vec::new();
    super::hpack::write_field(&mut trailers, "grpc-status", "0");
    frame::write_block(&mut answer, 1, frame::END_STREAM, &trailers);
    answer
}
