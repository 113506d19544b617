//! The client end of a protocol, without I/O. Requests have IDs, so that answers may come in any order.

use crate::{Fault, Progress, Trace};

/// The client end of a protocol on one connection. Like a [`Session`](crate::Session), it owns no socket, clock or
/// thread, so that it works with every client driver and with the simulator.
///
/// When the connection is established, the caller calls [`transmit`](Requester::transmit) until it returns 0. For every
/// piece of data that arrives, the caller calls [`receive`](Requester::receive) and then `transmit` again, even if no
/// request is in flight. Handshakes, pings and window updates are also sent by `transmit`. Once the session is
/// [`ready`](Requester::ready), [`begin`](Requester::begin) adds requests. After [`Progress::close`], nothing more is
/// sent or received on the connection. After a [`Fault`], the caller closes the connection at once;
/// [`transmit`](Requester::transmit) then returns its last bytes.
///
/// Each request that ends is reported to `done` while the input is read. The session stores nothing about a request
/// that has ended, so that any number of requests may end in one piece of input.
pub trait Requester {
    /// Returns true if the client end also sends bytes that belong to no request: a handshake, pings, or window
    /// updates. Drivers then complete every send before the next one, because the size of a request does not tell how
    /// much is sent.
    fn sends_unasked(&self) -> bool {
        false
    }

    /// Returns true if only the order of answers tells to which request each of them belongs. If the server sends a
    /// message without a request, it is taken for the answer to the next request.
    fn matches_answers_by_order(&self) -> bool {
        false
    }

    /// Returns true if requests may start. Bytes before that belong to a handshake; they are counted separately, and
    /// never as a request.
    fn ready(&self) -> bool {
        true
    }

    /// Returns true if the handshake resumed an earlier session of TLS, which takes far less CPU time.
    fn resumed(&self) -> bool {
        false
    }

    /// Returns the maximum number of concurrent requests that the server allows on this connection (HTTP/2).
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// Returns a sentence with advice that explains a [`Fault`] or an unexpected answer, if more is known than the
    /// fault itself tells.
    fn explain(&self) -> Option<String> {
        None
    }

    /// Returns the server's words in its last answer with an unexpected status, in quotation marks and safe to show.
    fn refusal_words(&self) -> Option<String> {
        None
    }

    /// Returns the reason that the server gave for ending the connection, as a sentence that is safe to show.
    fn close_words(&self) -> Option<String> {
        None
    }

    /// Returns the beginning of the received data in readable form, for a client's first connection, if data on the
    /// network is encrypted or binary. Returns `None` if data on the network is already readable.
    fn plain(&self) -> Option<&[u8]> {
        None
    }

    /// Returns true if more requests may start on this connection. Once the result is false, open requests are still
    /// answered, and [`Progress::close`] follows the last answer.
    fn takes_more(&self) -> bool {
        true
    }

    /// Returns true if a part of an answer has arrived. If the connection ended now, that answer would be incomplete.
    /// Returns `None` if the protocol does not show where an answer begins.
    fn is_answering(&self) -> Option<bool> {
        None
    }

    /// Reports each request whose answer has begun but is not complete. The same request may be reported again with each
    /// piece of its answer. If answers are streams of events, the number of events that ended since the last call is
    /// reported, too; otherwise this number is 0. Without the order of the answers, nothing shows to which request an
    /// incomplete answer belongs, so none is reported.
    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.matches_answers_by_order() && self.is_answering() == Some(true) {
            begun(Which::Oldest, 0);
        }
    }

    /// Tells to which of several addresses of the server the connection goes, by index.
    fn aim(&mut self, _address: u16) {}

    /// Prepares the last bytes of a connection (close_notify of TLS), if the client closes it and not the server.
    fn leave(&mut self) {}

    /// Adds a request to be sent; this is allowed only when the session is [`ready`](Requester::ready).
    fn begin(&mut self, request: Request);

    /// Copies the next bytes to send into `out`, and returns their number; 0 if there is currently nothing to send. The
    /// bytes of each call are sent by one write.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Returns true if [`transmit`](Requester::transmit) would return bytes.
    fn wants_transmit(&self) -> bool;

    /// Takes all bytes that have arrived, in pieces of any size.
    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// Handles the end of the data that the peer sends.
    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// Called when all requests so far were handed to the system, and [`transmit`](Requester::transmit) has nothing
    /// more to send. Only the protocol discard returns progress here, because sending alone completes its requests.
    fn flushed(&mut self, _done: &mut dyn FnMut(Done)) -> Progress {
        Progress::default()
    }

    /// Prepares for a new connection and keeps the memory.
    fn reset(&mut self);
}

/// A request to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// ID of the request on its connection, chosen by the caller; it may be used again when the request has ended.
    pub id: u16,
    /// Index of the request in the set; 0 if there is only one request.
    pub item: u16,
    /// Trace context of the request, for protocols that have one.
    pub trace: Trace,
}

/// A request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The request that ended.
    pub which: Which,
    /// Status of the response; 0 if the protocol has none. For gRPC, [`run::GRPC_STATUS`] is added.
    pub status: u16,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Bytes of the response (HTTP/2: only of its body); 0 if the protocol does not separate responses.
    pub bytes: u64,
    /// Number of events of the answer that [`Requester::each_begun_answer`] did not report; 0 if answers are no streams.
    pub events: u32,
}

impl Done {
    /// The oldest request in flight got the expected answer.
    pub const OLDEST: Self = Self { which: Which::Oldest, status: 0, outcome: Outcome::Expected, bytes: 0, events: 0 };
}

/// Reference to a request on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The oldest request in flight, for protocols that answer in order.
    Oldest,
    /// The request with this ID.
    Id(u16),
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The response is complete and as expected.
    Expected,
    /// The response is complete, but has an unexpected status.
    Unexpected,
    /// There is no response, but the connection and its other requests continue, as after a stream reset.
    Failed(Fault),
}
