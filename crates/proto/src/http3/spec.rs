//! Entry of HTTP/3 in the table of protocols.

use run::{Protocol, RequestSet};

use super::ClientPlan;
use crate::row::{ProtocolSpec, Scheme};
use crate::{ProtoError, http1};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "http3",
    help: "HTTP/3 over QUIC, with --streams requests at once on a connection; status, length and framing are checked",
    schemes: &[Scheme { name: "h3", port: Some(443), path: true, tls: true }],
    alpn: "h3",
    datagrams: true,
    defaults: || http1::to_http3(Protocol::default()),
    one_request: |_| {},
    takes: |_| false,
    without_network: http1::to_http1,
    ..http1::SPEC
};

/// Checks the user's settings of HTTP/3, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol, requests: Option<&RequestSet>) -> Result<ClientPlan, ProtoError> {
    ClientPlan::with_set(plan, requests)
}
