//! State of a connection in the connection engine (the part of a generator thread that does not depend on the driver).

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The connection index is not in use.
    #[default]
    Free,
    /// The connection is closed. The next connect starts when the connection's timer expires.
    Waiting,
    /// The SYN was sent, and the connection is not yet established.
    Connecting,
    /// The connection is established, and the handshake of the protocol is in progress.
    Handshaking,
    /// The connection is established and has no request in flight.
    Idle,
    /// The connection is established. The next request starts when the connection's timer expires.
    Thinking,
    /// The connection has at least one request in flight.
    Busy,
    /// All requests have ended. The FIN that the server announced has not yet arrived.
    Closing,
}

/// State of one connection index, and of the connection that has this index now. A connection index is a position in
/// the generator's table of connections; it is used again after its connection has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conn {
    /// Time at which the connection's timer expires. The connection's entry in the heap of timers may have an earlier
    /// time. When an early entry of the heap expires, the timer is only set again, for the time `deadline_ns`.
    pub(super) deadline_ns: u64,
    /// Time at which the connect started. During a handshake, the time at which the connection was established; in an
    /// open loop, the time of the last send.
    pub(super) began_ns: u64,
    /// Planned start of the first request, for requests that begin with a connect. With an arrival process (S-Clients,
    /// which are sockets that connect again and again), the planned start is the due time. In a closed loop, the
    /// planned start is the start of the connect.
    pub(super) intended_ns: u64,
    /// True if the client of a closed loop already waits for this connection: the previous connection ended, and the
    /// client has no think time left. If the client already waits for this connection, the response time of its next
    /// request includes the connect.
    pub(super) is_awaited: bool,
    /// Time of the last answer. Before the first answer, the time when the connection became ready for requests.
    pub(super) quiet_ns: u64,
    /// Time for which the connection had been idle when the requests in flight began. The time is 0 if the connection
    /// had not been idle, or if an answer has arrived since the requests began.
    pub(super) idle_ns: u64,
    pub(super) in_flight: u32,
    /// True if an answer has arrived since the connection last had no request in flight. If this flag is true, the
    /// oldest request in flight was sent while another request was in flight.
    pub(super) was_answered: bool,
    /// Number of bytes sent since the connection last had no request in flight.
    pub(super) sent_bytes: usize,
    /// Number of requests that were started since the connect.
    pub(super) made: u64,
    /// Number of requests that were started, but not yet passed to the kernel completely.
    pub(super) unsent: u32,
    pub(super) failures: u8,
    /// Index of the server's address that the connection uses.
    pub(super) address: u16,
    /// Number of messages that the connection may still start; used only by blocks of connections.
    pub(super) left: u32,
    pub(super) state: State,
    /// True while a send of this connection waits in the driver.
    pub(super) pending: bool,
    /// True once any byte was received on this connection.
    pub(super) heard: bool,
    /// True while the pool of the open loop lists this connection as busy, with a pipeline that is not full.
    pub(super) listed: bool,
}

impl Conn {
    /// Returns true if a request on this connection has already ended.
    pub(super) fn has_answers(&self) -> bool {
        self.made > u64::from(self.in_flight)
    }
}
