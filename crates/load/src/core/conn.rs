//! State of a connection in the engine.

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The connection number is not in use.
    #[default]
    Free,
    /// Closed, waiting for its timer to connect.
    Waiting,
    /// The SYN was sent, and the connection is not yet established.
    Connecting,
    /// Established, in the protocol's handshake.
    Handshaking,
    /// Established, no request in flight.
    Idle,
    /// Established, waiting for its timer to send.
    Thinking,
    /// The connection has at least one request in flight.
    Busy,
    /// Finished: waiting for the FIN that the server announced.
    Closing,
}

/// One connection number, and the connection that has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conn {
    /// Time at which the timer takes effect. The heap may hold an earlier entry.
    pub(super) deadline_ns: u64,
    /// Start of the connect. Once the connection is established: the time of the establishment, or, in an open loop, of
    /// the last send.
    pub(super) began_ns: u64,
    /// Due time of this connect's request (S-Clients with an arrival process), or the start of the connect (closed loop
    /// with one connection per request).
    pub(super) intended_ns: u64,
    /// Time of the last answer, or the time when the connection became ready for requests.
    pub(super) quiet_ns: u64,
    /// Idle time of the connection before the requests in flight; 0 if there was none, or if an answer has come since.
    pub(super) idle_ns: u64,
    pub(super) in_flight: u32,
    /// Requests started since the connect.
    pub(super) made: u64,
    /// Requests started and not yet passed completely to the kernel.
    pub(super) unsent: u32,
    pub(super) failures: u8,
    /// Number of messages that the connection may still start (blocks).
    pub(super) left: u32,
    pub(super) state: State,
    /// True while a send waits in the driver.
    pub(super) pending: bool,
    /// True once anything was received on this connection.
    pub(super) heard: bool,
    /// True while the open loop's pool lists the connection as one with room.
    pub(super) listed: bool,
}
