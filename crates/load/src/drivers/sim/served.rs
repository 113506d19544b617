//! State of a connection in the simulated server, and the last answer on a connection.

/// Answer that announces the end of its connection (HTTP/1 only).
pub(super) const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// State of a connection in the simulated server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    pub(super) requests: u32,
    /// Number of bytes of requests that the client has sent and the server has not read.
    pub(super) unread_bytes: usize,
    pub(super) answers: u32,
    /// True while the connection is established.
    pub(super) is_up: bool,
    /// True if the server reads no more requests from the connection.
    pub(super) is_over: bool,
    /// True while the server reads no more, but its kernel still receives requests.
    pub(super) closes_later: bool,
    /// True if the kernel received a request that the server will not read.
    pub(super) has_unread: bool,
}
