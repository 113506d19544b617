//! Entry of WebSocket in the table of protocols.

use run::Protocol;

use super::{ClientPlan, frame, handshake};
use crate::ProtoError;
use crate::client::message_bytes;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "websocket",
    help: "WebSocket: one message and the message that answers it; pings are answered, and a close of the server is answered",
    schemes: &[
        Scheme { name: "ws", port: Some(80), path: true, tls: false },
        Scheme { name: "wss", port: Some(443), path: true, tls: true },
    ],
    alpn: "http/1.1",
    defaults: || Protocol::Websocket {
        path: "/".into(),
        host: "localhost".into(),
        headers: Vec::new(),
        body_file: None,
        message_bytes: 64,
        messages: 0,
        expect_text: String::new(),
        id_pointer: None,
        answer_id_pointer: None,
        answer_message: None,
        exchange_messages: None,
    },
    flags: &[
        Flag {
            name: "body",
            short: None,
            requires: None,
            value: "FILE",
            help: "File with the message",
            set: FlagValue::Text(|plan, file| {
                if let Protocol::Websocket { body_file, .. } = plan {
                    *body_file = Some(file.into());
                }
            }),
        },
        Flag {
            name: "header",
            short: Some('H'),
            requires: None,
            value: "K: V",
            help: "Header of the handshake",
            set: FlagValue::Pair(|plan, name, value| {
                if let Protocol::Websocket { headers, .. } = plan {
                    headers.push((name.into(), value.into()));
                }
            }),
        },
        message_bytes(|plan, n| {
            if let Protocol::Websocket { message_bytes, .. } = plan {
                *message_bytes = n;
            }
        }),
        Flag {
            name: "messages",
            short: None,
            requires: None,
            value: "N",
            help: "ws: messages per connection, which a new one then replaces [default: no limit]",
            set: FlagValue::Number(|plan, n| {
                if let Protocol::Websocket { messages, .. } = plan {
                    *messages = n.into();
                }
            }),
        },
        Flag {
            name: "expect-text",
            short: None,
            requires: None,
            value: "TEXT",
            help: "ws: text that every answer contains; other messages of the server are skipped",
            set: FlagValue::Text(|plan, text| {
                if let Protocol::Websocket { expect_text, .. } = plan {
                    *expect_text = text.into();
                }
            }),
        },
        Flag {
            name: "id-pointer",
            short: None,
            requires: Some("body"),
            value: "POINTER",
            help: "ws: JSON pointer to the ID in the message, such as /id; each message gets a new ID, and only a message with this ID is its answer",
            set: FlagValue::Text(|plan, pointer| {
                if let Protocol::Websocket { id_pointer, .. } = plan {
                    *id_pointer = Some(pointer.into());
                }
            }),
        },
        Flag {
            name: "answer-id-pointer",
            short: None,
            requires: Some("id-pointer"),
            value: "POINTER",
            help: "ws: JSON pointer to the ID in the answer [default: --id-pointer]",
            set: FlagValue::Text(|plan, pointer| {
                if let Protocol::Websocket { answer_id_pointer, .. } = plan {
                    *answer_id_pointer = Some(pointer.into());
                }
            }),
        },
        Flag {
            name: "answer-message",
            short: None,
            requires: None,
            value: "N",
            help: "ws: the answer is the Nth of the server's messages for a request; 2 for an acknowledgement and a result",
            set: FlagValue::Number(|plan, n| {
                if let Protocol::Websocket { answer_message, .. } = plan {
                    *answer_message = Some(n);
                }
            }),
        },
        Flag {
            name: "exchange-messages",
            short: None,
            requires: Some("answer-message"),
            value: "N",
            help: "ws: number of messages that the server sends for each request [default: --answer-message]",
            set: FlagValue::Number(|plan, n| {
                if let Protocol::Websocket { exchange_messages, .. } = plan {
                    *exchange_messages = Some(n);
                }
            }),
        },
    ],
    set_target: |plan, authority, target| {
        if let Protocol::Websocket { path, host, .. } = plan {
            *host = authority.into();
            *path = if target.starts_with('/') { target.into() } else { format!("/{target}") };
        }
    },
    one_request: |plan| {
        if let Protocol::Websocket { messages, .. } = plan {
            *messages = 1;
        }
    },
    without_network: |plan| match plan {
        Protocol::Websocket { body_file, message_bytes, .. } => {
            let length = |file: String| crate::client::read("the message", &file).ok().map(|bytes| bytes.len() as u64);
            Protocol::Echo { message_bytes: body_file.and_then(length).unwrap_or(message_bytes).max(1) }
        }
        other => other,
    },
    canned: |_, request| match request {
        [] => handshake::accept_response(handshake::key()).into_bytes(),
        _ => {
            let mut answer = Vec::new();
            frame::write_control(&mut answer, frame::TEXT, b"answer", None);
            answer
        }
    },
    ..ProtocolSpec::DEFAULT
};

/// Checks the user's settings of WebSocket, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    ClientPlan::new(plan)
}
