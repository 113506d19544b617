//! Bytes that all clients of a load send: the handshake, the frame header and the message.

use std::sync::Arc;

use run::Protocol;

use super::answers::AnswerRule;
use super::frame;
use super::handshake::key;
use crate::ProtoError;
use crate::client::{positive, read};
use crate::http1::check_request;

/// Maximum size of a generated message, bytes.
const MAX_GENERATED: u64 = 1 << 30;

/// Bytes to send, and the rule by which the client finds answers.
pub(super) struct Prepared {
    pub(super) handshake: Box<[u8]>,
    /// Frame header; its last four bytes are replaced by the mask.
    pub(super) head: Box<[u8]>,
    pub(super) message: Arc<[u8]>,
    /// Maximum number of messages per connection; 0 for no limit.
    pub(super) most: u64,
    pub(super) answer_rule: AnswerRule,
}

impl Prepared {
    /// Checks the settings, reads the message, and builds the handshake and the frame header.
    pub(super) fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        let Protocol::Websocket { path, host, headers, body_file, message_bytes, messages, .. } = plan else {
            return Err(ProtoError::Unknown(plan.name()));
        };
        check_request("GET", path, host, headers)?;
        let message: Arc<[u8]> = match body_file {
            Some(file) => read("the message", file)?,
            None => (b' '..=b'~').cycle().take(positive(*message_bytes)?.min(MAX_GENERATED) as usize).collect(),
        };
        let (answer_rule, message) = AnswerRule::new(plan, message)?;
        let given = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut text = format!("GET {path} HTTP/1.1\r\n");
        if !given("host") {
            text.push_str(&format!("Host: {host}\r\n"));
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        text.push_str(&format!(
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\n\r\n",
            key()
        ));
        let opcode = if std::str::from_utf8(&message).is_ok() { frame::TEXT } else { frame::BINARY };
        let (head, length) = frame::head(opcode, true, message.len() as u64, true);
        let (handshake, head) = (text.into_bytes().into(), head[..length].into());
        let most = u64::from(*messages);
        Ok(Self { handshake, head, message, most, answer_rule })
    }
}
