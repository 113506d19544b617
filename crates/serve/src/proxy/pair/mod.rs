//! One client of the proxy and the upstream connection that works for it: bytes go from one to the other as far as
//! the other takes them. While bytes wait for one side, the other is not read: that is the backpressure, both ways.
//!
//! Plain forwarding: a head that concerns nobody but its reader passes unchanged, bodies pass unchanged always. A
//! request that a kept upstream connection lost before any byte of an answer is sent once more if it may be.

mod answer;
mod ending;
mod request;

use super::body::Body;
use super::end::{End, Out};
use super::io::Io;

/// Where an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request head is awaited.
    Idle,
    /// A request is being forwarded or answered.
    Exchange,
    /// What waits is written, then our side is ended.
    Closing,
    /// Our side has ended; what the client still sends is read and dropped, so that it gets to read the answer.
    Lingering,
}

/// What of the response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Head,
    Body(Body),
    Done,
}

/// Whether a pair goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    /// There is more to do at once, after the others had their turn.
    Again,
    Close,
}

pub(super) struct Pair {
    pub(super) client: End,
    pub(super) upstream: Option<End>,
    pub(super) phase: Phase,
    /// Told apart from an earlier pair in the same place.
    pub(super) serial: u32,
    /// When something last moved, milliseconds.
    pub(super) progress_ms: u64,
    /// Since when the head of a request is incomplete, milliseconds.
    pub(super) head_since_ms: Option<u64>,
    /// It stands in the line of those.
    pub(super) head_watched: bool,
    /// It stands in the line of deadlines.
    pub(super) watched: bool,
    /// It stands in the list of those to be continued.
    pub(super) again: bool,
    /// It stands in the line of clients to be looked at again.
    pub(super) suspected: bool,
    connecting: bool,
    /// The upstream connection was used before, and no byte of this answer has come.
    kept: bool,
    /// Bytes of the client that belong to the next request, or to a head that is not complete.
    input: Vec<u8>,
    /// Bytes of a response head that is not complete.
    partial: Vec<u8>,
    /// The head as it was sent, for sending it once more.
    request: Vec<u8>,
    to_client: Out,
    to_upstream: Out,
    upload: Body,
    answer: Answer,
    is_head: bool,
    keep_client: bool,
    keep_upstream: bool,
    repeatable: bool,
    /// The client may be sent an interim response, and has not been yet.
    may_probe: bool,
    /// A byte of the final response has been passed on, so no other status can be told any more.
    told: bool,
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
            told: false,
        }
    }

    /// Whether the client is what is waited for.
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

    /// Whether an exchange goes on in which the client has nothing to say now.
    pub(super) fn leaves_client_unread(&self) -> bool {
        self.phase == Phase::Exchange && !self.wants_client_read()
    }

    /// Whether in such an exchange the client could go unnoticed: what it said last was its end, or it is not asked.
    pub(super) fn may_miss_client(&self, level: bool) -> bool {
        (self.client.ended || level && self.client.readable) && self.leaves_client_unread()
    }

    /// Whether events of the client's side are of use: also to hear of its end, until there is something unread, which a
    /// level-triggered back end would report in every call.
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

    /// Moves whatever can be moved. A turn reads each side at most once, so that one fast pair does not keep others
    /// waiting; `Again` says that there may be more.
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
