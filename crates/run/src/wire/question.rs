//! Single requests to a server that an agent makes, before a load or after it.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{ClusterSlots, MAX_CLUSTER_RANGES};

/// Question about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerQuestion {
    /// Checks that the server accepts a connection.
    Accepts,
    /// Sends the first request of the load and reports the answer.
    Answers,
    /// Sends one request after a load, with a longer timeout than the load's timeout.
    StillAnswers,
    /// Encodes the messages of a gRPC call from JSON, with types that the server describes by reflection.
    EncodedCall,
    /// Asks a node of a Redis cluster for the slots of all nodes.
    ClusterSlots,
}

/// Answer to a [`ServerQuestion`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerAnswer {
    /// Response to the request of the agent; absent if no response came, or if the agent made no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<TestResponse>,
    /// Reason why there is no response or no connection, with advice; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// True if the server's host neither accepts nor refuses connects, as with a full accept queue.
    pub accepts_nothing: bool,
    /// Addresses of a host name, if the agent's task was only to look up these addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<SocketAddr>,
    /// Slots of the Redis cluster to which the server belongs, if the question was about these slots.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<MAX_CLUSTER_RANGES, _, _>"
    )]
    pub cluster: Vec<ClusterSlots>,
    /// Encoded messages of a gRPC call, if the question was about these messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<EncodedCall>,
}

/// Encoded messages of a gRPC call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodedCall {
    /// Messages in base64.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_MESSAGES, _, _>")]
    pub messages: Vec<String>,
    /// True if the server may answer with several messages.
    pub streams_answers: bool,
}

/// Maximum number of messages of one gRPC call.
pub const MAX_MESSAGES: usize = 10_000;

impl ServerAnswer {
    /// Returns all texts of the answer, so that the caller can change them, for example to remove secrets.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let response = self.response.as_mut().map(|response| {
            let TestResponse { status_line, said, redirect, body, .. } = response;
            [status_line.as_mut(), said.as_mut(), redirect.as_mut(), Some(body)]
        });
        response.into_iter().flatten().flatten().chain(&mut self.error)
    }
}

/// Result of a single test request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestResponse {
    /// Time from connect() to the last byte, microseconds.
    pub took_us: f64,
    /// Number of bytes of the response.
    pub bytes: u64,
    /// Number of bytes of the request and of any handshake before the request.
    pub bytes_sent: u64,
    /// Number of bytes of the answer that count in this protocol (HTTP/2: only the body).
    pub answer_bytes: u64,
    /// Status line, if the protocol has one.
    pub status_line: Option<String>,
    /// Status of the response as a number; 0 if the protocol has none.
    pub status: u16,
    /// True if the status counts as a failure.
    pub unexpected: bool,
    /// Explanation of an unexpected answer, with advice; absent if loadline's code for the protocol has no explanation.
    pub said: Option<String>,
    /// Target of a redirect.
    pub redirect: Option<String>,
    /// True if the body is not compressed, and the server says that its answers depend on `Accept-Encoding`.
    #[serde(default, skip_serializing_if = "crate::skip_empty::is_false")]
    pub may_be_compressed: bool,
    /// First bytes of the body, with unprintable bytes escaped.
    pub body: String,
    /// Length of the body in bytes; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// True if a response came. The value is always false for protocols in which the server never responds.
    pub answered: bool,
    /// Number of handshakes before the response arrived.
    pub handshakes: u64,
}
