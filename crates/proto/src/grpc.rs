//! gRPC: calls over HTTP/2. The client sends all messages of a call at once, and the server answers with one or more
//! messages. Only gRPC status 0, or another status that the user expects, is a success. Source: "gRPC over HTTP2", the
//! gRPC project's description of its protocol.
//!
//! The client uses the sessions of [`http2`](crate::http2). The server side is the HTTP/2 server, with answers (pages)
//! made by [`Page::grpc`](crate::http1::Page::grpc).

use run::{GrpcPlan, HttpPlan, Protocol};

use crate::ProtoError;
use crate::http2::{ClientPlan, canned_call};
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

pub use crate::grpc_messages::{MessageError, framed, messages};

/// Entry of gRPC in the table of protocols.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "grpc",
    help: "gRPC: calls over HTTP/2, --streams at once on a connection; any status but 0 is an error",
    schemes: &[
        Scheme { name: "grpc", port: None, path: true, tls: false },
        Scheme { name: "grpcs", port: Some(443), path: true, tls: true },
    ],
    alpn: "h2",
    defaults: || {
        let (path, host) = ("/package.Service/Method".into(), "localhost".into());
        Protocol::Grpc(GrpcPlan { path, host, ..GrpcPlan::default() })
    },
    flags: &[
        flag(
            "body",
            "FILE",
            "File with the message",
            FlagValue::Text(|plan, file| {
                change(plan, |call| call.body_file = Some(file.into()));
            }),
        ),
        flag(
            "grpc-json",
            "JSON",
            GRPC_JSON,
            FlagValue::Text(|plan, json| {
                change(plan, |call| call.json = Some(json.into()));
            }),
        ),
        Flag {
            requires: Some("grpc-json"),
            ..flag(
                "proto",
                "FILE",
                "Proto file with the types for --grpc-json; may be repeated",
                FlagValue::Texts(|plan, file| change(plan, |call| call.proto_files.push(file.into()))),
            )
        },
        Flag {
            requires: Some("proto"),
            ..flag(
                "proto-path",
                "DIR",
                "Folder in which imports of --proto are searched; may be repeated",
                FlagValue::Texts(|plan, dir| change(plan, |call| call.proto_paths.push(dir.into()))),
            )
        },
        Flag {
            requires: Some("grpc-json"),
            ..flag(
                "protoset",
                "FILE",
                "Descriptor set with the types for --grpc-json; may be repeated",
                FlagValue::Texts(|plan, file| change(plan, |call| call.descriptor_sets.push(file.into()))),
            )
        },
        flag(
            "grpc-gzip",
            "",
            "Compress the messages with gzip, and accept compressed answers",
            FlagValue::Switch(|plan| change(plan, |call| call.gzip = true)),
        ),
        flag(
            "deadline",
            "TIME",
            DEADLINE,
            FlagValue::Seconds(|plan, seconds| {
                change(plan, |call| call.deadline_s = Some(seconds));
            }),
        ),
        Flag {
            short: Some('H'),
            ..flag(
                "header",
                "K: V",
                "Metadata of the call",
                FlagValue::Pair(|plan, name, value| {
                    change(plan, |call| call.headers.push((name.into(), value.into())));
                }),
            )
        },
        flag(
            "expect-status",
            "CODE",
            "Status that is right besides 0",
            FlagValue::Number(|plan, code| {
                change(plan, |call| call.expect_status = Some(code));
            }),
        ),
    ],
    set_target: |plan, authority, target| {
        change(plan, |call| {
            call.host = authority.into();
            call.path = if target.starts_with('/') { target.into() } else { format!("/{target}") };
        });
    },
    // For measurements without a network, a call is replaced by an HTTP/1.1 request with the same body.
    without_network: |plan| match plan {
        Protocol::Grpc(GrpcPlan { path, host, headers, body_file, .. }) => {
            let method = "POST".into();
            Protocol::Http1(HttpPlan { method, path, host, headers, body_file, expect_status: None })
        }
        other => other,
    },
    canned: |_, request| canned_call(request),
    ..ProtocolSpec::DEFAULT
};

const GRPC_JSON: &str = "Message as JSON, or @FILE; several messages or an array if the method takes a stream; the types \
                         come from --proto, --protoset or the server's reflection";
const DEADLINE: &str = "Time after which the server shall give up a call (grpc-timeout) [default: --timeout, if given]";

const fn flag(name: &'static str, value: &'static str, help: &'static str, set: FlagValue) -> Flag {
    Flag { name, short: None, requires: None, value, help, set }
}

/// Changes the settings in `plan`, if they belong to a gRPC call. Does nothing if `plan` is for another protocol.
fn change(plan: &mut Protocol, change: impl FnOnce(&mut GrpcPlan)) {
    if let Protocol::Grpc(call) = plan {
        change(call);
    }
}

/// Checks the user's settings of gRPC, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    ClientPlan::calls(plan)
}
