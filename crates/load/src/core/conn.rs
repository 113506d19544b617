//! State of a connection in the engine.

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The connection number is not in use.
    #[default]
    Free,
    /// Closed; the timer will start the next connect.
    Waiting,
    /// The SYN was sent, and the connection is not yet established.
    Connecting,
    /// The connection is established, and the handshake of the protocol is in progress.
    Handshaking,
    /// Established, with no request in flight.
    Idle,
    /// Established; the timer will start the next request.
    Thinking,
    /// The connection has at least one request in flight.
    Busy,
    /// All requests have ended; the FIN that the server announced has not arrived.
    Closing,
}

/// A connection number, and the connection that currently uses it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conn {
    /// Time at which the timer takes effect. The heap of timers may contain an older, earlier entry.
    pub(super) deadline_ns: u64,
    /// Time when the connect started. After the connection is established, this is the time of that event; in an open
    /// loop, it is the time of the last send.
    pub(super) began_ns: u64,
    /// Due time of the request that this connect starts (S-Clients with an arrival process), or start of the connect
    /// (closed loop with one connection per request).
    pub(super) intended_ns: u64,
    /// Time of the last answer, or the time when the connection became ready for requests.
    pub(super) quiet_ns: u64,
    /// Time for which the connection was idle before the requests in flight; 0 if it was not idle, or if an answer has
    /// come since.
    pub(super) idle_ns: u64,
    pub(super) in_flight: u32,
    /// Number of bytes sent since no request was in flight.
    pub(super) sent_bytes: usize,
    /// Number of requests started since the connect.
    pub(super) made: u64,
    /// Number of requests that were started but not yet completely passed to the kernel.
    pub(super) unsent: u32,
    pub(super) failures: u8,
    /// Index of the server's address.
    pub(super) address: u16,
    /// Number of messages that the connection may still start, in blocks.
    pub(super) left: u32,
    pub(super) state: State,
    /// True while a send waits in the driver.
    pub(super) pending: bool,
    /// True once any data was received on this connection.
    pub(super) heard: bool,
    /// True while the open loop's pool lists this connection as having room for requests.
    pub(super) listed: bool,
}

impl Conn {
    /// Returns true if requests ended on this connection before those in flight.
    pub(super) fn has_answers(&self) -> bool {
        self.made > u64::from(self.in_flight)
    }
}
