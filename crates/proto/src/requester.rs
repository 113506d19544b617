//! The client end of a protocol without any I/O. Requests have IDs, so that answers may come in any order.

use crate::{Fault, Progress};

/// The client end of a protocol on one connection. Like a [`Session`](crate::Session) it owns no socket, clock or
/// thread, so it runs under every client driver and the simulator.
///
/// When the connection is up, the caller calls [`transmit`](Requester::transmit) until it returns 0. For every piece
/// that arrives it calls [`receive`](Requester::receive), followed by `transmit` again, whether or not a request is
/// under way. `transmit` also sends handshakes, pings and window updates. Once the session is
/// [`ready`](Requester::ready), [`begin`](Requester::begin) adds requests. After [`Progress::close`] the connection
/// carries nothing more. After a [`Fault`] the caller closes it at once, and [`transmit`](Requester::transmit) then
/// gives its last bytes.
///
/// Each finished request is reported to `done` while the input is read. The session stores nothing for a finished
/// request, so any number of requests may end in one piece of input.
pub trait Requester {
    /// Returns true if the client end also sends bytes that belong to no request (a handshake, pings, window updates).
    /// Drivers then complete every send before the next, instead of relying on the size of requests.
    fn sends_unasked(&self) -> bool {
        false
    }

    /// Returns true if only the order of answers tells which request each belongs to. A message that no request asked
    /// for is then taken for the answer to the next request.
    fn matches_answers_by_order(&self) -> bool {
        false
    }

    /// Returns true if requests may start. Earlier bytes are a handshake: counted separately, never as a request.
    fn ready(&self) -> bool {
        true
    }

    /// Returns true if the handshake resumed an earlier session (TLS), which is far cheaper.
    fn resumed(&self) -> bool {
        false
    }

    /// Returns the maximum number of concurrent requests that the server announced for this connection (HTTP/2).
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// Returns a sentence with advice that explains a [`Fault`] or an unexpected answer, if more is known than the
    /// fault itself.
    fn explain(&self) -> Option<String> {
        None
    }

    /// Returns the server's words in its last answer with an unexpected status, in quotation marks and safe to show.
    fn refusal_words(&self) -> Option<String> {
        None
    }

    /// Returns the reason that the server gave for the end of the connection, as a sentence that is safe to show.
    fn close_words(&self) -> Option<String> {
        None
    }

    /// Returns the start of the received data in readable form, on a client's first connection, if the wire carries the
    /// data encrypted or in binary form. Returns `None` for readable data.
    fn plain(&self) -> Option<&[u8]> {
        None
    }

    /// Returns true if further requests may start on this connection. Once the result is false, pending requests are
    /// still answered, and [`Progress::close`] follows the last answer.
    fn takes_more(&self) -> bool {
        true
    }

    /// Returns true if part of an answer has arrived, so that the end of the connection would cut this answer off.
    /// Returns `None` if the protocol does not show whether an answer has begun.
    fn is_answering(&self) -> Option<bool> {
        None
    }

    /// Prepares the last bytes (close_notify of TLS) of a connection that the client closes instead of the server.
    fn leave(&mut self) {}

    /// Adds a request to send; only when [`ready`](Requester::ready).
    fn begin(&mut self, request: Request);

    /// Copies the next bytes to send into `out` and returns their number, or 0 when there is nothing to send now. The
    /// bytes of one call are one write.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Returns true if [`transmit`](Requester::transmit) would give bytes.
    fn wants_transmit(&self) -> bool;

    /// Takes all bytes that arrived, in pieces of any size.
    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// Handles the end of the peer's data.
    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// Called when all requests started so far are handed to the system and [`transmit`](Requester::transmit) has
    /// nothing more to give. Only protocol discard returns progress here, because it completes a request by sending
    /// alone.
    fn flushed(&mut self, _done: &mut dyn FnMut(Done)) -> Progress {
        Progress::default()
    }

    /// Forgets the connection and keeps the memory.
    fn reset(&mut self);
}

/// A request to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// ID of the request on its connection, chosen by the caller; free again once the request has ended.
    pub id: u16,
    /// Index in the set of requests; 0 if there is only one.
    pub item: u16,
}

/// A request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Request that is complete.
    pub which: Which,
    /// Status of the response; 0 if the protocol has none. A gRPC status has [`run::GRPC_STATUS`] added.
    pub status: u16,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Bytes of the response (HTTP/2: only of the body); 0 if the protocol does not separate responses.
    pub bytes: u64,
}

impl Done {
    /// The oldest request under way was answered as expected.
    pub const OLDEST: Self = Self { which: Which::Oldest, status: 0, outcome: Outcome::Expected, bytes: 0 };
}

/// Reference to a request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The oldest request under way, for protocols that answer in order.
    Oldest,
    /// The request with this ID.
    Id(u16),
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A complete response, as expected.
    Expected,
    /// A complete response with an unexpected status.
    Unexpected,
    /// No response; the connection and its other requests continue (a stream that was reset).
    Failed(Fault),
}
