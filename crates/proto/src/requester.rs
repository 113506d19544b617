//! The client end of a protocol without any I/O. Requests have names, so that answers may come in any order.

use crate::{Fault, Progress};

/// The client end of a protocol on one connection. Like a [`Session`](crate::Session) it owns no socket, clock or
/// thread, so the same one runs under every client driver and the simulator.
///
/// The caller's loop is: when the connection is up, [`transmit`](Requester::transmit) until it returns 0, and
/// [`receive`](Requester::receive) for every piece that arrives, followed by `transmit` again, whether or not a request
/// is under way: a handshake, a ping or a window update is sent that way. Once it is [`ready`](Requester::ready),
/// [`begin`](Requester::begin) adds requests. After [`Progress::close`] the connection carries nothing more; after a
/// [`Fault`] it is closed at once, with what [`transmit`](Requester::transmit) gives then as its last words.
///
/// Every request that ends is told to `done` while the input is read: nothing is stored for it, so any number may end
/// in one piece of input.
pub trait Requester {
    /// Whether it also sends what no request asked for (a handshake, pings, window updates). Drivers then take every
    /// send to its end before the next, instead of counting on the size of requests.
    fn sends_unasked(&self) -> bool {
        false
    }

    /// Whether requests may be begun. Until then the bytes are a handshake: counted apart, never as a request.
    fn ready(&self) -> bool {
        true
    }

    /// Whether the handshake took up an earlier session (TLS), which is far cheaper.
    fn resumed(&self) -> bool {
        false
    }

    /// Most requests that the server takes at once on this connection, where it said so (HTTP/2).
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// What went wrong, after a [`Fault`] or an unexpected answer, where there is more to say: one sentence with what to do.
    fn explain(&self) -> Option<String> {
        None
    }

    /// The beginning of what was received, on the first connection of a client, where the wire carries it encrypted or in a
    /// form that no person reads; `None` where the wire says it itself.
    fn plain(&self) -> Option<&[u8]> {
        None
    }

    /// Whether further requests may be begun on this connection. Once not, those under way are still answered, and
    /// [`Progress::close`] follows the last.
    fn takes_more(&self) -> bool {
        true
    }

    /// One more request is to be sent; only when [`ready`](Requester::ready).
    fn begin(&mut self, request: Request);

    /// Copies the next bytes to be sent into `out` and returns how many; 0 when there is nothing to send now. What one
    /// call gives is one write.
    fn transmit(&mut self, out: &mut [u8]) -> usize;

    /// Whether [`transmit`](Requester::transmit) would give bytes.
    fn wants_transmit(&self) -> bool;

    /// Takes bytes that arrived, all of them, in pieces of any size.
    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// The peer will send nothing more.
    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault>;

    /// All requests begun so far are handed to the system, and [`transmit`](Requester::transmit) has nothing more to give.
    /// Only a protocol in which sending alone completes something answers with progress (discard).
    fn flushed(&mut self, _done: &mut dyn FnMut(Done)) -> Progress {
        Progress::default()
    }

    /// Forgets the connection and keeps the memory.
    fn reset(&mut self);
}

/// Which request to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of the request on its connection, the caller's choice; free again once the request has ended.
    pub id: u16,
    /// Its place in the set of requests; 0 where there is one.
    pub item: u16,
}

/// One request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which one.
    pub which: Which,
    /// The status of its response; 0 where the protocol has none, of gRPC with [`run::GRPC_STATUS`] added.
    pub status: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes of its response (HTTP/2: of the body alone); 0 where the protocol does not tell responses apart.
    pub bytes: u64,
}

impl Done {
    /// The oldest request under way was answered as expected.
    pub const OLDEST: Self = Self { which: Which::Oldest, status: 0, outcome: Outcome::Expected, bytes: 0 };
}

/// Which request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that was begun first of those under way: a protocol that answers in order has no need of names.
    Oldest,
    /// The one of this id.
    Id(u16),
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A complete response, as expected.
    Expected,
    /// A complete response with a status that is not an expected one.
    Unexpected,
    /// No response; the connection and its other requests go on (a stream that was reset).
    Failed(Fault),
}
