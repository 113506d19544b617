//! gRPC: unary calls over HTTP/2, with one message in each direction. Only gRPC status 0, or another status that the
//! user expects, is a success. Source: "gRPC over HTTP2", the gRPC project's description of its protocol.
//!
//! The client uses the sessions of [`http2`](crate::http2). The server side is the HTTP/2 server, with answers (pages)
//! made by [`Page::grpc`](crate::http1::Page::grpc).

use run::{HttpPlan, Protocol};

use crate::ProtoError;
use crate::http2::{ClientPlan, canned_call};
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

/// Entry of this protocol in the table of protocols.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "grpc",
    help: "gRPC: unary calls over HTTP/2, --streams at once on a connection; any status but 0 is an error",
    schemes: &[
        Scheme { name: "grpc", port: None, path: true, tls: false },
        Scheme { name: "grpcs", port: Some(443), path: true, tls: true },
    ],
    alpn: "h2",
    defaults: || Protocol::Grpc {
        path: "/package.Service/Method".into(),
        host: "localhost".into(),
        headers: Vec::new(),
        body_file: None,
        expect_status: None,
    },
    flags: &[
        flag(
            "body",
            "FILE",
            "File with the message",
            FlagValue::Text(|plan, file| {
                if let Protocol::Grpc { body_file, .. } = plan {
                    *body_file = Some(file.into());
                }
            }),
        ),
        Flag {
            short: Some('H'),
            ..flag(
                "header",
                "K: V",
                "Metadata of the call",
                FlagValue::Pair(|plan, name, value| {
                    if let Protocol::Grpc { headers, .. } = plan {
                        headers.push((name.into(), value.into()));
                    }
                }),
            )
        },
        flag(
            "expect-status",
            "CODE",
            "Status that is right besides 0",
            FlagValue::Number(|plan, code| {
                if let Protocol::Grpc { expect_status, .. } = plan {
                    *expect_status = Some(code);
                }
            }),
        ),
    ],
    set_target: |plan, authority, target| {
        if let Protocol::Grpc { path, host, .. } = plan {
            *host = authority.into();
            *path = if target.starts_with('/') { target.into() } else { format!("/{target}") };
        }
    },
    // For measurements without a network, a call is replaced by an HTTP/1.1 request with the same body.
    without_network: |plan| match plan {
        Protocol::Grpc { path, host, headers, body_file, .. } => {
            let method = "POST".into();
            Protocol::Http1(HttpPlan { method, path, host, headers, body_file, expect_status: None })
        }
        other => other,
    },
    canned: |_, request| canned_call(request),
    ..ProtocolSpec::DEFAULT
};

const fn flag(name: &'static str, value: &'static str, help: &'static str, set: FlagValue) -> Flag {
    Flag { name, short: None, requires: None, value, help, set }
}

/// Checks the user's settings of this protocol, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    ClientPlan::calls(plan)
}
