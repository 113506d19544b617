//! One end of a protocol without any I/O: given bytes, it says what to send and what was completed.

/// One end of a protocol on one connection. It owns no socket, no clock and no thread, so the same session runs under
/// every server model, every client driver and the simulator.
///
/// The caller's loop is: [`begin`](Session::begin) (client only), then [`transmit`](Session::transmit) until it returns
/// 0, and [`receive`](Session::receive) for every piece of bytes that arrives, followed by `transmit` again. After
/// [`Progress::close`] the caller sends what `transmit` still gives and closes. After a [`Fault`] it closes at once.
///
/// Sessions are reused: [`reset`](Session::reset) makes one ready for a new connection without allocating.
pub trait Session {
    /// Client: one more request is to be sent. Server: does nothing.
    fn begin(&mut self);

    /// Copies the next bytes to be sent into `out` and returns how many; 0 when there is nothing to send now.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Whether [`transmit`](Session::transmit) would give bytes.
    fn wants_transmit(&self) -> bool;

    /// Takes bytes that arrived, all of them, in pieces of any size.
    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault>;

    /// The peer will send nothing more.
    fn peer_closed(&mut self) -> Result<Progress, Fault>;

    /// Forgets the connection and keeps the memory.
    fn reset(&mut self);
}

/// What a piece of input completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Exchanges that became complete: responses at a client, requests at a server.
    pub completed: u32,
    /// Of those, responses whose status is not an expected one.
    pub unexpected: u32,
    /// Completed exchanges by status class 1xx to 5xx (client of a protocol that has statuses).
    pub status: [u32; 5],
    /// The connection is to be closed once everything is transmitted.
    pub close: bool,
}

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes do not follow the protocol.
    #[error("the bytes do not follow the protocol: {0}")]
    Malformed(&'static str),
    /// The exchange is complete but not what was expected.
    #[error("the body is not what was expected: {0}")]
    WrongBody(&'static str),
    /// The peer closed in the middle of an exchange.
    #[error("the peer closed before the exchange was complete")]
    Short,
    /// A limit of ours was exceeded (header size, body size).
    #[error("a limit was exceeded: {0}")]
    Limit(&'static str),
}
