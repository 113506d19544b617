//! The settings of the protocols.

use serde::{Deserialize, Serialize};

/// What is said on a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1(HttpPlan),
    /// HTTP/2: with prior knowledge, or within TLS by ALPN.
    Http2(HttpPlan),
    /// Sends a block of bytes and expects the same back.
    Echo {
        /// Bytes a message.
        message_bytes: u64,
    },
    /// Sends a file's bytes and expects a number of bytes back.
    Raw {
        /// File whose bytes are one request; absent for none.
        send_file: Option<String>,
        /// Bytes of one response; absent: everything until the server closes.
        expect_bytes: Option<u64>,
    },
    /// Fixed-size records of a file (source 0 and 3): 60-byte header, reply of 60 bytes and the record.
    Record {
        /// Bytes a record.
        record_bytes: u64,
    },
    /// Sends and expects nothing back.
    Discard {
        /// Bytes a message.
        message_bytes: u64,
    },
    /// Redis commands.
    Redis {
        /// The command of each request, where no file has some.
        command: String,
        /// File with a command a line, made in turn.
        #[serde(default)]
        commands_file: Option<String>,
        /// File with the password, or `USER:PASSWORD`.
        #[serde(default)]
        auth_file: Option<String>,
        /// Database that is selected; 0 is what a connection begins with.
        #[serde(default)]
        database: u32,
        /// RESP3 instead of RESP2.
        #[serde(default)]
        resp3: bool,
    },
    /// Commands of memcached's text protocol.
    Memcached {
        /// The command of each request, where no file has some.
        command: String,
        /// File with a command a line, made in turn.
        #[serde(default)]
        commands_file: Option<String>,
    },
    /// WebSocket: a message and the message that answers it.
    Websocket {
        /// Path and query of the handshake.
        path: String,
        /// Value of its Host header.
        host: String,
        /// Further headers of the handshake, in order.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// File whose bytes are the message; absent: text is made up.
        #[serde(default)]
        body_file: Option<String>,
        /// Bytes of a message that is made up.
        message_bytes: u64,
        /// Messages of one connection, which then is closed; 0: no end.
        #[serde(default)]
        messages: u32,
    },
    /// Unary calls of gRPC over HTTP/2.
    Grpc {
        /// `/package.Service/Method`.
        path: String,
        /// Value of `:authority`.
        host: String,
        /// Metadata, in order.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// File whose bytes are the message; absent: an empty one.
        #[serde(default)]
        body_file: Option<String>,
        /// Status of gRPC that counts as right besides 0.
        #[serde(default)]
        expect_status: Option<u16>,
    },
    /// Receives what the server sends.
    Source {
        /// Bytes that count as one message.
        message_bytes: u64,
    },
}

/// A request of HTTP, whatever its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HttpPlan {
    /// `GET`, `HEAD`, `POST` or any token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Value of the Host header, of HTTP/2 of `:authority`.
    pub host: String,
    /// Further headers, in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// File whose bytes are the body.
    #[serde(default)]
    pub body_file: Option<String>,
    /// Status that counts as right besides 2xx and 3xx.
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
    /// The request, where it is one of HTTP, whatever its version.
    pub const fn http(&self) -> Option<&HttpPlan> {
        match self {
            Self::Http1(request) | Self::Http2(request) => Some(request),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub const fn http_mut(&mut self) -> Option<&mut HttpPlan> {
        match self {
            Self::Http1(request) | Self::Http2(request) => Some(request),
            _ => None,
        }
    }

    /// Path and headers, where a request has them.
    pub const fn path_and_headers(&mut self) -> Option<(&mut String, &mut Vec<(String, String)>)> {
        match self {
            Self::Http1(HttpPlan { path, headers, .. })
            | Self::Http2(HttpPlan { path, headers, .. })
            | Self::Grpc { path, headers, .. }
            | Self::Websocket { path, headers, .. } => Some((path, headers)),
            _ => None,
        }
    }

    /// Bytes of a message that comes back as it was sent: what blocks of connections are paced by.
    pub const fn echoed_bytes(&self) -> Option<u64> {
        match self {
            Self::Echo { message_bytes } => Some(*message_bytes),
            _ => None,
        }
    }

    /// The name used in tables and flags.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Http1(_) => "http1",
            Self::Http2(_) => "http2",
            Self::Echo { .. } => "echo",
            Self::Raw { .. } => "raw",
            Self::Record { .. } => "record",
            Self::Discard { .. } => "discard",
            Self::Source { .. } => "source",
            Self::Redis { .. } => "redis",
            Self::Memcached { .. } => "memcached",
            Self::Websocket { .. } => "websocket",
            Self::Grpc { .. } => "grpc",
        }
    }
}
