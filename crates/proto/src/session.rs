//! Server session of a protocol, without I/O: reads bytes, and returns bytes to send and the number of completed
//! exchanges. The client session is [`Requester`](crate::Requester).

/// Server session of a protocol on one connection. The session owns no socket, clock or thread. Every server model of
/// the crate `serve` (such as epoll, or one thread per connection) can therefore use the session.
///
/// For every piece of data that arrives, the caller calls [`receive`](Session::receive), and then
/// [`transmit`](Session::transmit) until it returns 0. One write sends the bytes of one call of `transmit`; a session
/// that wants two writes returns two pieces. After all bytes of `transmit` were handed to the system, the caller calls
/// [`flushed`](Session::flushed). After [`Progress::close`], the caller sends the remaining bytes of `transmit` and
/// closes the connection. After a [`Fault`], the caller closes the connection at once.
///
/// Sessions are reused: [`reset`](Session::reset) prepares a session for a new connection without allocating memory.
pub trait Session {
    /// Copies the next bytes to send into `out`, and returns their number; 0 if there is currently nothing to send.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Returns true if [`transmit`](Session::transmit) would return bytes.
    fn wants_transmit(&self) -> bool;

    /// Returns the time, in nanoseconds of the monotonic clock, at which [`transmit`](Session::transmit) will have more
    /// to send without further input. Returns `None` in sessions that send only in response to input.
    fn due_ns(&self) -> Option<u64> {
        None
    }

    /// Reads all bytes that have arrived, in pieces of any size.
    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault>;

    /// Called when the peer has announced that it sends nothing more.
    fn peer_closed(&mut self) -> Result<Progress, Fault>;

    /// Called when all bytes of [`transmit`](Session::transmit) were handed to the system, and `transmit` has nothing
    /// more to send. The returned progress counts exchanges that are complete once they are sent, and says whether the
    /// connection must be closed.
    fn flushed(&mut self) -> Progress {
        Progress::default()
    }

    /// Returns true if the reply to the next input bytes is a copy of these bytes. If the result is true, the caller
    /// may send the bytes back directly from its receive buffer. The caller reports the number of sent bytes with
    /// [`mirrored`](Session::mirrored), and passes the remaining bytes to `receive`.
    fn mirrors(&self) -> bool {
        false
    }

    /// Counts input bytes that were sent back directly, without `receive` and `transmit`.
    fn mirrored(&mut self, _bytes: usize) {}

    /// Returns true if the head of a request has begun but is incomplete.
    fn awaits_head(&self) -> bool {
        false
    }

    /// Called when a head was not complete in time. In a call of `head_is_late`, the session prepares the error
    /// response. The caller closes the connection after the response.
    fn head_is_late(&mut self) {}

    /// Prepares the session for a new connection, without freeing the memory.
    fn reset(&mut self);
}

impl<S: Session + ?Sized> Session for Box<S> {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        (**self).transmit(out)
    }

    fn wants_transmit(&self) -> bool {
        (**self).wants_transmit()
    }

    fn due_ns(&self) -> Option<u64> {
        (**self).due_ns()
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

/// Results of reading a piece of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of exchanges that ended. At a server, an exchange ends with a complete request. At a client, an exchange
    /// ends with a response, and is also reported as a [`Done`](crate::Done).
    pub completed: u32,
    /// Number of messages that the server sent without a request. These messages do not count as answers.
    pub unasked: u32,
    /// True if the connection must be closed after everything was sent.
    pub close: bool,
    /// Used with `close`: true if the peer may still be sending. The caller first ends only its own side of the
    /// connection, and keeps reading for a while. Closing the connection at once would reset it, and could destroy the
    /// last reply before it arrives.
    pub linger: bool,
}

impl Progress {
    /// Progress without completed exchanges, after which the connection must be closed once everything was sent.
    pub const CLOSE: Self = Self { completed: 0, unasked: 0, close: true, linger: false };

    /// Adds the results of reading another piece of input.
    pub fn merge(&mut self, other: Self) {
        self.completed += other.completed;
        self.unasked += other.unasked;
        self.close |= other.close;
        self.linger |= other.linger;
    }
}

/// Reason why a connection or one of its requests failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes violate the protocol.
    #[error("the bytes do not follow the protocol: {0}")]
    Malformed(&'static str),
    /// The server sent an answer without a request. If only the order matches answers with requests, all answers of the
    /// connection are doubtful.
    #[error("the server sent {0}, so its answers cannot be matched with requests")]
    Unasked(&'static str),
    /// The response is complete, but its content or length is not the expected one.
    #[error("the body is not what was expected: {0}")]
    WrongBody(&'static str),
    /// The peer closed the connection in the middle of an exchange.
    #[error("the peer closed before the exchange was complete")]
    Short,
    /// The server ended one request before its response was complete.
    #[error("the server reset the stream of a request")]
    StreamReset,
    /// The server refused one request without processing it.
    #[error("the server refused the stream of a request")]
    StreamRefused,
    /// The server closes the connection without having processed this request, which can safely be sent again
    /// elsewhere.
    #[error("the server left before it looked at the request")]
    Unprocessed,
    /// An earlier answer announced the end of the connection, so the server does not process this request. The request
    /// can safely be sent again on another connection.
    #[error("the server closed the connection after an earlier request")]
    BehindClose,
    /// The server ended the connection before it processed any request. The server would probably refuse another
    /// connection, too.
    #[error("the server left before it looked at any request of the connection")]
    ConnectionRefused,
    /// A node of a Redis cluster did not process the command, but redirected it to the node that now owns the key's
    /// hash slot.
    #[error("the node redirected the command (MOVED)")]
    Moved,
    /// A node of a Redis cluster redirected this command without processing it, because the key's hash slot is moving
    /// to another node.
    #[error("the node redirected the command (ASK)")]
    Asked,
    /// The input exceeded a limit of loadline (size of a header or a body).
    #[error("a limit was exceeded: {0}")]
    Limit(&'static str),
}
