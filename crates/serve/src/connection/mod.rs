//! The state machine of one connection. It owns no socket: an I/O model tells it what arrived and asks what to do next.
//!
//! A model hands arriving bytes to [`Connection::received`] (the end of input to [`Connection::end_of_input`]). It writes
//! what [`Connection::transmit`] gives until that is nothing, and then does what [`Connection::settle`] says.

mod activity;
#[cfg(test)]
mod tests;

use proto::{Progress, Session};

pub(crate) use activity::{Activity, HeadState, LINGER_MS};

/// A session that may move between threads.
pub(crate) type BoxedSession = Box<dyn Session + Send>;

/// Bytes read by one recv, and most bytes written by one send.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// Next step of a connection that has nothing left to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait: for input where [`Connection::takes_input`] is true, else until a strategy lets the connection go on.
    Wait,
    /// End the sending side (shutdown), then read on. The machine drops what still arrives.
    EndSide,
    /// Close the connection.
    Close(End),
}

/// Reason for which a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// The socket reported an error.
    Reset,
    /// The peer broke the protocol.
    Fault,
}

/// Milliseconds of the monotonic clock, in which all times of a connection are kept.
pub(crate) fn now_ms() -> u32 {
    (sys::clock::monotonic_ns() / 1_000_000) as u32
}

/// State of one connection.
pub(crate) struct Connection {
    session: BoxedSession,
    /// The connection ends once everything is written.
    closing: bool,
    /// With `closing`: read on after the sending side has ended, since a plain close could destroy the last reply.
    linger: bool,
    input_ended: bool,
    pub(crate) activity: Activity,
}

impl Connection {
    /// Starts a connection; `parked` ones wait until a strategy lets them go on.
    pub(crate) fn new(session: BoxedSession, now_ms: u32, parked: bool) -> Self {
        let activity = Activity::new(now_ms, parked);
        Self { session, closing: false, linger: false, input_ended: false, activity }
    }

    /// Gives the session back, for another connection.
    pub(crate) fn into_session(self) -> BoxedSession {
        self.session
    }

    /// Takes bytes that arrived. Returns how many requests they completed.
    pub(crate) fn received(&mut self, bytes: &[u8], now_ms: u32) -> Result<u32, End> {
        if self.activity.lingering {
            return if self.activity.drops_too_much(bytes.len() as u32) { Err(End::Done) } else { Ok(0) };
        }
        if self.closing {
            return Ok(0);
        }
        let progress = self.session.receive(bytes).map_err(|_| End::Fault)?;
        self.activity.heard(progress.completed, self.session.awaits_head(), now_ms);
        Ok(self.note(progress))
    }

    /// Notes that the peer ended its side. Returns how many requests that completed.
    pub(crate) fn end_of_input(&mut self) -> Result<u32, End> {
        self.input_ended = true;
        if self.activity.lingering {
            return Err(End::Done);
        }
        if self.closing {
            return Ok(0);
        }
        let progress = self.session.peer_closed().map_err(|_| End::Fault)?;
        Ok(self.note(progress))
    }

    fn note(&mut self, progress: Progress) -> u32 {
        self.closing |= progress.close;
        self.linger |= progress.linger;
        progress.completed
    }

    /// Returns whether the reply to the next bytes is those bytes, so that a model may send them from where they lie.
    pub(crate) fn mirrors(&self) -> bool {
        !self.closing && !self.activity.lingering && self.session.mirrors()
    }

    /// Notes a request whose first `bytes` bytes were sent back from where they lay.
    pub(crate) fn mirrored(&mut self, bytes: usize, now_ms: u32) {
        self.session.mirrored(bytes);
        self.activity.heard(1, false, now_ms);
    }

    /// Returns whether [`Connection::transmit`] would give bytes.
    pub(crate) fn wants_write(&self) -> bool {
        !self.holds_output() && self.session.wants_transmit()
    }

    /// Copies the next bytes to write into `out`. Returns how many; 0 when there are none now.
    pub(crate) fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.holds_output() { 0 } else { self.session.transmit(out) }
    }

    fn holds_output(&self) -> bool {
        self.activity.lingering || self.activity.parked
    }

    /// Decides what follows once everything that `transmit` gave is handed to the system.
    pub(crate) fn settle(&mut self, now_ms: u32) -> Next {
        if self.activity.lingering || (self.activity.parked && self.session.wants_transmit()) {
            return Next::Wait;
        }
        self.closing |= self.session.flushed().close;
        if self.closing && self.linger && !self.input_ended {
            self.activity.begin_linger(now_ms);
            return Next::EndSide;
        }
        if self.closing || self.input_ended { Next::Close(End::Done) } else { Next::Wait }
    }

    /// Gives up a request whose head did not come in time: the peer is told, then the connection ends.
    pub(crate) fn head_is_late(&mut self) {
        self.session.head_is_late();
        self.closing = true;
    }

    /// Returns whether input is taken now.
    pub(crate) fn takes_input(&self) -> bool {
        !self.input_ended && !self.activity.parked && (!self.closing || self.activity.lingering)
    }
}
