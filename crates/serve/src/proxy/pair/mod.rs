//! A pair: a client of the proxy with its upstream connection. Bytes are forwarded in both directions as fast as the
//! receivers accept them.
//!
//! While bytes wait to be sent to one side, the other side is not read, so a slow receiver also slows its sender down.
//! The proxy forwards bodies unchanged. The proxy forwards heads unchanged unless they contain fields that it must
//! change. If a kept upstream connection is closed before any byte of the response, a repeatable request is sent again.

mod answer;
mod ending;
mod request;

use super::body::Body;
use super::end::{End, Out};
use super::io::Io;

/// Phase of a connection to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waiting for a request head.
    Idle,
    /// Forwarding a request or its response.
    Exchange,
    /// Writing the last bytes for the client, after which the proxy closes its sending side.
    Closing,
    /// The proxy has closed its sending side, and the client can still read its last response. Further bytes from the
    /// client are dropped.
    Lingering,
}

/// Part of the response that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Head,
    Body(Body),
    Done,
}

/// Next step of a pair: a client's connection and its upstream connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    /// Call `turn` for this pair again after the other pairs, even without an event.
    Again,
    Close,
}

pub(super) struct Pair {
    pub(super) client: End,
    pub(super) upstream: Option<End>,
    pub(super) phase: Phase,
    /// Number that distinguishes this pair from earlier pairs with the same index.
    pub(super) serial: u32,
    /// Time at which bytes were last forwarded, milliseconds.
    pub(super) progress_ms: u64,
    /// Time at which the incomplete head of a request began, milliseconds; absent if there is none.
    pub(super) head_since_ms: Option<u64>,
    /// True if the pair is in the list of incomplete request heads.
    pub(super) head_watched: bool,
    /// True if the pair is in the list of deadlines.
    pub(super) watched: bool,
    /// True if the pair is in the list of pairs for which `turn` is called again without an event.
    pub(super) again: bool,
    /// True if the pair is in the list of clients that may have left.
    pub(super) suspected: bool,
    connecting: bool,
    /// True if the upstream connection was kept from an earlier request, and no byte of the response has arrived.
    kept: bool,
    /// Received bytes of an incomplete request head, or of the request after the current one.
    input: Vec<u8>,
    /// Received bytes of an incomplete response head.
    partial: Vec<u8>,
    /// Head of the request as sent to the upstream server, stored so that the request can be sent again.
    request: Vec<u8>,
    to_client: Out,
    to_upstream: Out,
    upload: Body,
    answer: Answer,
    is_head: bool,
    keep_client: bool,
    keep_upstream: bool,
    repeatable: bool,
    /// True if the proxy may still send an interim response for the request. The proxy sends at most one interim
    /// response, to find out whether the client has left.
    may_probe: bool,
    /// True once the final response has begun. After the response has begun, no other status can be sent.
    response_begun: bool,
}

impl Pair {
    pub(super) fn new(client: End, serial: u32, now_ms: u64) -> Self {
        Self {
            client,
            upstream: None,
            phase: Phase::Idle,
            serial,
            progress_ms: now_ms,
            head_since_ms: None,
            head_watched: false,
            watched: false,
            again: false,
            suspected: false,
            connecting: false,
            kept: false,
            input: Vec::new(),
            partial: Vec::new(),
            request: Vec::new(),
            to_client: Out::default(),
            to_upstream: Out::default(),
            upload: Body::NONE,
            answer: Answer::Done,
            is_head: false,
            keep_client: true,
            keep_upstream: true,
            repeatable: false,
            may_probe: false,
            response_begun: false,
        }
    }

    /// Returns true if the exchange can continue only after the client reads or sends bytes.
    pub(super) fn waits_for_client(&self) -> bool {
        !self.to_client.is_empty() || self.answer == Answer::Head && !self.upload.done() && self.to_upstream.is_empty()
    }

    pub(super) fn wants_client_read(&self) -> bool {
        match self.phase {
            Phase::Idle => self.to_client.is_empty(),
            Phase::Exchange => self.uploading() && self.to_upstream.is_empty(),
            Phase::Closing => false,
            Phase::Lingering => true,
        }
    }

    /// Returns true if an exchange is in progress and the proxy currently does not read from the client.
    pub(super) fn leaves_client_unread(&self) -> bool {
        self.phase == Phase::Exchange && !self.wants_client_read()
    }

    /// Returns true if the proxy might not notice that the client has closed its connection. The close can stay
    /// unnoticed under three conditions: an exchange is in progress, the proxy does not read from the client, and no
    /// event would report a reset.
    pub(super) fn may_miss_client(&self, level: bool) -> bool {
        (self.client.ended || level && self.client.readable) && self.leaves_client_unread()
    }

    /// Returns true if the event queue must report new data from the client and the end of its data. A client with
    /// unread bytes cannot be watched, because a level-triggered backend would report these bytes in every call.
    pub(super) fn watches_client(&self) -> bool {
        self.wants_client_read() || self.phase == Phase::Exchange && !self.client.readable
    }

    pub(super) fn wants_client_write(&self) -> bool {
        !self.to_client.is_empty()
    }

    pub(super) fn wants_upstream_read(&self) -> bool {
        !self.connecting && self.to_client.is_empty()
    }

    pub(super) fn wants_upstream_write(&self) -> bool {
        self.connecting || !self.to_upstream.is_empty()
    }

    fn uploading(&self) -> bool {
        !self.upload.done() && !self.connecting
    }

    /// Forwards bytes in both directions, or continues to close the client's connection. Each side of the pair is read
    /// at most once per call, so that a fast pair does not delay other pairs. Returns `Again` if more bytes can be read
    /// or forwarded immediately.
    pub(super) fn turn(&mut self, io: &mut Io) -> Next {
        if self.to_client.flush(&mut self.client).map(|n| io.sent(n)).is_err() {
            return Next::Close;
        }
        match self.phase {
            Phase::Idle => self.idle(io),
            Phase::Exchange => self.exchange(io),
            Phase::Closing => self.closing(io),
            Phase::Lingering => self.linger(io),
        }
    }
}
