//! Client session of a protocol, without I/O. Requests have IDs, so answers may come in any order.

use crate::{Fault, Progress, Trace};

/// Client session of a protocol on one connection. Like a server's [`Session`](crate::Session), the client session owns
/// no socket, clock or thread. Every kind of client I/O (such as epoll or io_uring) and the simulator can therefore use
/// the client session.
///
/// When the connection is established, the user of a session (the caller) calls [`transmit`](Requester::transmit) until
/// it returns 0. For every piece of data that arrives, the caller calls [`receive`](Requester::receive) and then
/// `transmit` again, even if no request is in flight. Handshakes, pings and window updates are also sent by `transmit`.
/// Once the session is [`ready`](Requester::ready), [`begin`](Requester::begin) adds requests. After
/// [`Progress::close`], nothing more is sent or received on the connection. After a [`Fault`], the caller sends the
/// last bytes that [`transmit`](Requester::transmit) returns, and closes the connection.
///
/// Each request that ends is reported by a call of `done`, before the method that got `done` returns. The session
/// stores nothing about an ended request, so any number of requests may end in one piece of input.
pub trait Requester {
    /// Returns true if the session also sends bytes that are not part of a request: a handshake, pings, or window
    /// updates. If the result is true, more bytes than those of the requests may be sent, and the caller completes
    /// every send before the next one.
    fn sends_unasked(&self) -> bool {
        false
    }

    /// Returns true if the session has timers of its own, and reads datagrams instead of a stream of bytes (QUIC). If
    /// the result is true, the caller calls [`tick`](Requester::tick) before each call that may send or receive, and at
    /// the time that [`due_ns`](Requester::due_ns) returns.
    fn is_timed(&self) -> bool {
        false
    }

    /// Passes the current time to the session (nanoseconds of the caller's clock), and handles the session's timers
    /// that are due. Call [`receive`](Requester::receive) with no bytes afterwards if a timer was due, because the
    /// timer may have ended the connection.
    fn tick(&mut self, _now_ns: u64) {}

    /// Returns the time of the session's next timer, nanoseconds of the caller's clock; `None` if no timer is set.
    fn due_ns(&self) -> Option<u64> {
        None
    }

    /// Returns the statistics of the connection's network path so far; `None` for protocols that do not use QUIC, and
    /// before the handshake is complete.
    fn quic_path(&self) -> Option<run::QuicPaths> {
        None
    }

    /// Tells the session the size, in bytes, of the datagrams that the next call of [`receive`](Requester::receive)
    /// gets in one piece. The last datagram may be shorter.
    fn expect_datagrams(&mut self, _bytes: usize) {}

    /// Returns true if answers can be matched with requests only by their order. If the result is true, a message that
    /// the server sends without a request would be taken for the answer to the next request.
    fn matches_answers_by_order(&self) -> bool {
        false
    }

    /// Returns true if requests may start. Bytes that are sent or received before requests may start belong to a
    /// handshake, and never count as bytes of a request.
    fn ready(&self) -> bool {
        true
    }

    /// Returns true if the handshake resumed an earlier TLS session. A resumed handshake takes far less CPU time than a
    /// full one.
    fn resumed(&self) -> bool {
        false
    }

    /// Returns true if requests may start before the handshake is complete. Requests that start before the handshake is
    /// complete are sent as early data, in the first packets of the connection. Only requests for which
    /// [`Client::may_be_early`](crate::Client::may_be_early) is true may start. The caller must have called
    /// [`tick`](Requester::tick) before.
    fn takes_early(&self) -> bool {
        false
    }

    /// Returns the counts of early data since the last call, on this and earlier connections of the session.
    fn take_early_data(&mut self) -> EarlyData {
        EarlyData::default()
    }

    /// Returns true if the server accepted early data on this connection and has sent no ticket yet. If a connection
    /// closed before its ticket arrives, no other connection could resume its session with early data.
    fn awaits_ticket(&self) -> bool {
        false
    }

    /// Returns the maximum number of concurrent requests that the server allows on this connection (HTTP/2).
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// Returns a sentence that explains a [`Fault`] or an unexpected answer, if the session has more information than
    /// the fault.
    fn explain(&self) -> Option<String> {
        None
    }

    /// Returns the text of the server's last answer with an unexpected status, in quotation marks and without control
    /// characters.
    fn refusal_words(&self) -> Option<String> {
        None
    }

    /// Returns the reason that the server gave for ending the connection, without control characters.
    fn close_words(&self) -> Option<String> {
        None
    }

    /// Returns true if the server closed the connection and asked the client to come back later.
    fn asks_to_come_later(&self) -> bool {
        false
    }

    /// Returns the beginning of the received data in readable form, for display. Returns `None` if the received bytes
    /// are readable as they are, or if this connection does not store their beginning.
    fn plain(&self) -> Option<&[u8]> {
        None
    }

    /// Stores up to `max_bytes` bytes of the first answer, for [`plain`](Requester::plain). The caller calls this
    /// method before the first request. The method has an effect only in HTTP/2.
    fn keep_first_answer(&mut self, _max_bytes: usize) {}

    /// Drops the stored beginning of the received data. The session then stores the beginning of the next answer, which
    /// [`plain`](Requester::plain) returns.
    fn forget_first_answer(&mut self) {}

    /// Returns the length of the body of the last complete answer, bytes. Leaves out chunk sizes and frame headers.
    /// Returns `None` in protocols whose answers have no body, and before the first answer is complete.
    fn last_body_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns true if more requests may start on this connection. Even if the result is false, open requests are still
    /// answered. After the last answer, [`Progress::close`] follows.
    fn takes_more(&self) -> bool {
        true
    }

    /// Returns true if a part of an answer has arrived. If the result is true and the connection ended now, the answer
    /// would be incomplete. Returns `None` if the protocol does not show where an answer begins.
    fn is_answering(&self) -> Option<bool> {
        None
    }

    /// Returns true if the answer in progress has no known length, and lasts until the server ends the connection
    /// (HTTP/1). Only the end of the connection shows whether such an answer is complete.
    fn lasts_until_close(&self) -> bool {
        false
    }

    /// Calls `begun` for each request whose answer has begun, but is not complete. The same request may be reported
    /// again with each piece of its answer. The second argument of `begun` is the number of events of the answer since
    /// the last call; 0 if answers are no streams of events. By default, only the oldest request is reported, and only
    /// if answers arrive in order.
    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.matches_answers_by_order() && self.is_answering() == Some(true) {
            begun(Which::Oldest, 0);
        }
    }

    /// Calls `sent` with the ID of each request that waited for a free stream (HTTP/2, HTTP/3), and whose headers are
    /// now ready to be sent. The caller calls this method after each send. A request that still waits for a stream is
    /// reported by a later call.
    fn each_late_request(&mut self, _sent: &mut dyn FnMut(u16)) {}

    /// Tells the session the index of the server address to which the connection is opened.
    fn aim(&mut self, _address: u16) {}

    /// Prepares the last bytes of a connection that the client closes (the alert close_notify of TLS).
    fn leave(&mut self) {}

    /// Adds a request to be sent. The caller first checks that the session is [`ready`](Requester::ready) or
    /// [`takes_early`](Requester::takes_early) requests.
    fn begin(&mut self, request: Request);

    /// Copies the next bytes to send into `out`, and returns their number; 0 if there is currently nothing to send. The
    /// bytes that one call of `transmit` returns are sent by one write.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Returns true if [`transmit`](Requester::transmit) would return bytes.
    fn wants_transmit(&self) -> bool;

    /// Reads all bytes that have arrived, in pieces of any size.
    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// Called when the peer has announced that it sends nothing more.
    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// Called when all bytes of the requests so far were handed to the system, and [`transmit`](Requester::transmit)
    /// has nothing more to send. Reports requests that expect no answer as complete, because they are complete as soon
    /// as they are sent. Examples are requests of the protocol `discard`, and raw requests for which no answer is
    /// expected.
    fn flushed(&mut self, _done: &mut dyn FnMut(Done)) -> Progress {
        Progress::default()
    }

    /// Prepares the session for a new connection, without freeing the memory.
    fn reset(&mut self);
}

/// Use of early data (0-RTT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyData {
    /// Number of handshakes in which the server accepted early data.
    pub handshakes: u64,
    /// Number of requests in accepted early data.
    pub requests: u64,
    /// Number of requests that were sent as early data and again after the handshake. The server rejected the early
    /// data or answered with status 425.
    pub resent: u64,
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

/// Report of a request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The request that ended.
    pub which: Which,
    /// Status of the response; 0 if the protocol has none. For gRPC, the gRPC status plus [`run::GRPC_STATUS`].
    pub status: u16,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Number of bytes of the response (HTTP/2: only of its body); 0 if the protocol does not separate responses.
    pub bytes: u64,
    /// Number of events of the answer that [`Requester::each_begun_answer`] has not reported; 0 if answers are not
    /// streams.
    pub events: u32,
}

impl Done {
    /// Report that the oldest request in flight got the expected answer.
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
    /// The request failed for the reason that the fault names. The connection and its other requests may continue, for
    /// example after a stream reset.
    Failed(Fault),
}
