//! State of a connection at the simulated server, and its last answer.

/// Last answer of a connection (HTTP/1 only).
pub(super) const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// State of a connection in the server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    pub(super) requests: u32,
    /// Bytes of requests that the client sent and the server has not read.
    pub(super) unread_bytes: usize,
    pub(super) answers: u32,
    /// True while the connection is established.
    pub(super) is_up: bool,
    /// True if the server reads no further requests.
    pub(super) is_over: bool,
}
