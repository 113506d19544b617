//! Protocols of a load, with their settings.

use serde::{Deserialize, Serialize};

use super::grpc::GrpcPlan;

/// Protocol and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Protocol {
    /// Requests over HTTP/1.1.
    Http1(HttpPlan),
    /// HTTP/2: with prior knowledge, or over TLS by ALPN.
    Http2(HttpPlan),
    /// HTTP/3 over QUIC.
    Http3(HttpPlan),
    /// Echo: sends a block of bytes and expects the same block back.
    Echo {
        /// Bytes per message.
        message_bytes: u64,
    },
    /// Raw bytes: sends the bytes of a file and expects a number of bytes back.
    Raw {
        /// File with the bytes of each request; absent to send nothing.
        send_file: Option<String>,
        /// Number of bytes per response; absent to read until the server closes the connection.
        expect_bytes: Option<u64>,
        /// End of the greeting that the server sends first: `line`, a number of bytes, or a text; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_first: Option<String>,
    },
    /// Records of equal size from a file. A request is a header of 60 bytes. The server's response is a header of 60
    /// bytes, followed by the record.
    Record {
        /// Bytes per record.
        record_bytes: u64,
    },
    /// Discard: sends bytes and expects no response.
    Discard {
        /// Bytes per message.
        message_bytes: u64,
    },
    /// Commands for a Redis server.
    Redis {
        /// Command of each request; not used if `commands_file` names a file.
        command: String,
        /// File with one command per line. The requests send the commands of this file in turn.
        #[serde(default)]
        commands_file: Option<String>,
        /// File with the password or `USER:PASSWORD`.
        #[serde(default)]
        auth_file: Option<String>,
        /// Number of the database to select; 0 to select none, because a new connection uses database 0.
        #[serde(default)]
        database: u32,
        /// True for RESP3 instead of RESP2.
        #[serde(default)]
        resp3: bool,
        /// Slots of the Redis cluster to which the server belongs; empty if the server belongs to no cluster.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cluster: Vec<crate::ClusterSlots>,
    },
    /// Commands of memcached's text protocol.
    Memcached {
        /// Command of each request; not used if `commands_file` names a file.
        command: String,
        /// File with one command per line. The requests send the commands of this file in turn.
        #[serde(default)]
        commands_file: Option<String>,
    },
    /// Statements for a PostgreSQL server.
    Postgres {
        /// User; empty for connections without a login, which only a load without a network has.
        #[serde(default)]
        user: String,
        /// Name of the database; empty if it equals the name of the user.
        #[serde(default)]
        database: String,
        /// Password; a run stores a placeholder instead.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        password: String,
        /// True to prepare each statement once per connection, instead of sending its text each time.
        #[serde(default)]
        prepared: bool,
        /// True if the server is on this machine. On one machine, nobody on a network can read the password.
        #[serde(default)]
        local: bool,
    },
    /// WebSocket: each request is one message. By default, each response is one message of the server.
    Websocket {
        /// Path and query of the handshake.
        path: String,
        /// Value of the handshake's Host header.
        host: String,
        /// Additional headers of the handshake, in order.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// File with the message; absent for generated text.
        #[serde(default)]
        body_file: Option<String>,
        /// Bytes per message when the text is generated.
        message_bytes: u64,
        /// Number of messages after which the client closes a connection; 0 for no limit.
        #[serde(default)]
        messages: u32,
        /// Text that a message must contain to count as an answer. loadline skips other messages.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        expect_text: String,
        /// JSON pointer (RFC 6901) to the ID in each message. Only a message with the ID of the request is the answer
        /// to this request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id_pointer: Option<String>,
        /// JSON pointer to the ID in an answer; absent if it equals `id_pointer`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_id_pointer: Option<String>,
        /// Position of the answer among the messages that the server sends for each request, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_message: Option<u16>,
        /// Number of messages that the server sends for each request; absent if the answer is the last message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exchange_messages: Option<u16>,
    },
    /// gRPC: calls over HTTP/2. The client sends all messages of a call at once.
    Grpc(GrpcPlan),
    /// Source: receives bytes that the server sends.
    Source {
        /// Number of bytes that count as one message.
        message_bytes: u64,
    },
}

/// HTTP request of any version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HttpPlan {
    /// Method: `GET`, `HEAD`, `POST` or any other token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Value of the Host header, or of `:authority` in HTTP/2 and HTTP/3.
    pub host: String,
    /// Additional headers, in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// File with the body of the request.
    #[serde(default)]
    pub body_file: Option<String>,
    /// The only right status of the answer; absent if 2xx and 3xx are right. Older versions accepted this status
    /// besides 2xx and 3xx.
    #[serde(default)]
    pub expect_status: Option<u16>,
}

impl Default for HttpPlan {
    fn default() -> Self {
        Self {
            method: "GET".into(),
            path: "/".into(),
            host: "localhost".into(),
            headers: Vec::new(),
            body_file: None,
            expect_status: None,
        }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Http1(HttpPlan::default())
    }
}

impl Protocol {
    /// Returns the HTTP request of any version; `None` for other protocols.
    pub const fn http(&self) -> Option<&HttpPlan> {
        match self {
            Self::Http1(request) | Self::Http2(request) | Self::Http3(request) => Some(request),
            _ => None,
        }
    }

    /// Returns the HTTP request of any version, so that it can be changed; `None` for other protocols.
    pub const fn http_mut(&mut self) -> Option<&mut HttpPlan> {
        match self {
            Self::Http1(request) | Self::Http2(request) | Self::Http3(request) => Some(request),
            _ => None,
        }
    }

    /// Returns the settings without parts that only agents need, for a stored plan.
    #[must_use]
    pub fn abridged(self) -> Self {
        match self {
            Self::Grpc(call) => Self::Grpc(call.abridged()),
            other => other,
        }
    }

    /// Returns the path and the headers of the requests; `None` if the protocol has none.
    pub const fn path_and_headers(&mut self) -> Option<(&mut String, &mut Vec<(String, String)>)> {
        match self {
            Self::Http1(HttpPlan { path, headers, .. })
            | Self::Http2(HttpPlan { path, headers, .. })
            | Self::Http3(HttpPlan { path, headers, .. })
            | Self::Grpc(GrpcPlan { path, headers, .. })
            | Self::Websocket { path, headers, .. } => Some((path, headers)),
            _ => None,
        }
    }

    /// Returns the bytes per message if the server echoes messages. A load of blocks ([`crate::LoadPlan::blocks`])
    /// needs a server that echoes messages.
    pub const fn echoed_bytes(&self) -> Option<u64> {
        match self {
            Self::Echo { message_bytes } => Some(*message_bytes),
            _ => None,
        }
    }

    /// Returns the plural word for requests of this protocol, such as `statements`.
    pub const fn requests_word(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "statements",
            _ => "requests",
        }
    }

    /// Returns the name used in tables and flags.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Http1(_) => "http1",
            Self::Http2(_) => "http2",
            Self::Http3(_) => "http3",
            Self::Echo { .. } => "echo",
            Self::Raw { .. } => "raw",
            Self::Record { .. } => "record",
            Self::Discard { .. } => "discard",
            Self::Source { .. } => "source",
            Self::Redis { .. } => "redis",
            Self::Memcached { .. } => "memcached",
            Self::Postgres { .. } => "postgres",
            Self::Websocket { .. } => "websocket",
            Self::Grpc(_) => "grpc",
        }
    }
}
