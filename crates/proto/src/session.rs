//! The server end of a protocol without any I/O: given bytes, it returns bytes to send and completed exchanges. The
//! client end is [`Requester`](crate::Requester).

/// The server end of a protocol on one connection. A session owns no socket, no clock and no thread, so one session
/// type runs under every server model.
///
/// The caller calls [`receive`](Session::receive) for every piece of bytes that arrives, then
/// [`transmit`](Session::transmit) until it returns 0. The bytes of one call of `transmit` are one write; a session
/// that wants two writes returns two pieces. When all these bytes have been handed to the system, the caller calls
/// [`flushed`](Session::flushed). After [`Progress::close`] the caller sends the remaining bytes of `transmit` and
/// closes. After a [`Fault`] the caller closes at once.
///
/// Sessions are reused: [`reset`](Session::reset) makes one ready for a new connection without allocating.
pub trait Session {
    /// Copies the next bytes to send into `out` and returns their number, or 0 when there is nothing to send now.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Returns true if [`transmit`](Session::transmit) would give bytes.
    fn wants_transmit(&self) -> bool;

    /// Takes all bytes that arrived, in pieces of any size.
    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault>;

    /// Handles the end of the peer's data.
    fn peer_closed(&mut self) -> Result<Progress, Fault>;

    /// Called when everything that [`transmit`](Session::transmit) gave is handed to the system and it has nothing more
    /// to give. Only a protocol in which sending alone ends an exchange (source) returns progress.
    fn flushed(&mut self) -> Progress {
        Progress::default()
    }

    /// Returns true if the reply to the next input bytes is a copy of them, so that the caller may send them from the
    /// receive buffer. The caller reports the number of bytes sent to [`mirrored`](Session::mirrored), and gives the
    /// rest to `receive`.
    fn mirrors(&self) -> bool {
        false
    }

    /// Counts input bytes that were sent back in place, without `receive` and `transmit`.
    fn mirrored(&mut self, _bytes: usize) {}

    /// Returns true if a request has begun whose head is incomplete, so that it cannot be handled yet.
    fn awaits_head(&self) -> bool {
        false
    }

    /// The caller reports that the rest of a head did not come in time. The session then produces the error response,
    /// and the caller closes.
    fn head_is_late(&mut self) {}

    /// Forgets the connection and keeps the memory.
    fn reset(&mut self);
}

impl<S: Session + ?Sized> Session for Box<S> {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        (**self).transmit(out)
    }

    fn wants_transmit(&self) -> bool {
        (**self).wants_transmit()
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        (**self).receive(input)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        (**self).peer_closed()
    }

    fn flushed(&mut self) -> Progress {
        (**self).flushed()
    }

    fn mirrors(&self) -> bool {
        (**self).mirrors()
    }

    fn mirrored(&mut self, bytes: usize) {
        (**self).mirrored(bytes);
    }

    fn awaits_head(&self) -> bool {
        (**self).awaits_head()
    }

    fn head_is_late(&mut self) {
        (**self).head_is_late();
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

/// Result of a piece of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Exchanges that ended: requests at a server, and responses at a client, each reported as a [`Done`](crate::Done).
    pub completed: u32,
    /// Number of unrequested messages of a server, which are not answers.
    pub unasked: u32,
    /// True if the connection must be closed once everything is transmitted.
    pub close: bool,
    /// With `close`: the peer may still be sending, so we end our side first and keep reading for a while. A plain
    /// close would reset the connection and could destroy the last reply on its way.
    pub linger: bool,
}

impl Progress {
    /// Close once everything is transmitted.
    pub const CLOSE: Self = Self { completed: 0, unasked: 0, close: true, linger: false };

    /// Adds the progress of a further piece.
    pub fn merge(&mut self, other: Self) {
        self.completed += other.completed;
        self.unasked += other.unasked;
        self.close |= other.close;
        self.linger |= other.linger;
    }
}

/// Reason why a connection, or one of its requests, cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes violate the protocol.
    #[error("the bytes do not follow the protocol: {0}")]
    Malformed(&'static str),
    /// The server sent an answer without a request. Which of the connection's answers belong to requests is unknown if
    /// only their order tells.
    #[error("the server sent {0}, so its answers cannot be matched with requests")]
    Unasked(&'static str),
    /// The response is complete, but its content or length is not the expected one.
    #[error("the body is not what was expected: {0}")]
    WrongBody(&'static str),
    /// The peer closed in the middle of an exchange.
    #[error("the peer closed before the exchange was complete")]
    Short,
    /// The server ended one request before its response was complete.
    #[error("the server reset the stream of a request")]
    StreamReset,
    /// The server refused one request without processing it.
    #[error("the server refused the stream of a request")]
    StreamRefused,
    /// The server ends the connection and has not processed this request, which can safely be retried on another
    /// connection.
    #[error("the server left before it looked at the request")]
    Unprocessed,
    /// An earlier answer announced the close, so the server does not process this request. The request can safely be
    /// retried on another connection.
    #[error("the server closed the connection after an earlier request")]
    BehindClose,
    /// The server ended the connection before it processed any request. The server may refuse the retry as well.
    #[error("the server left before it looked at any request of the connection")]
    ConnectionRefused,
    /// Input exceeded a limit of loadline (header size, body size).
    #[error("a limit was exceeded: {0}")]
    Limit(&'static str),
}
