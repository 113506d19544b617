//! State machine of one connection, without a socket. An I/O model passes arriving data to the state machine, and asks
//! the state machine for the next step.
//!
//! An I/O model passes arriving bytes to [`Connection::received`], and the end of the input to
//! [`Connection::end_of_input`]. The I/O model writes the bytes from [`Connection::transmit`] until no bytes are left,
//! and then takes the step that [`Connection::settle`] returns.

mod activity;
#[cfg(test)]
mod tests;

use proto::{Progress, Session};

pub(crate) use activity::{Activity, HeadState, LINGER_MS};

/// A session that can move between threads.
pub(crate) type BoxedSession = Box<dyn Session + Send>;

/// Maximum number of bytes of one read or one write.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// Next step of a connection whose output was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for input if [`Connection::takes_input`] is true. If [`Connection::takes_input`] is false, wait until the
    /// connection gets a worker slot or may be read again.
    Wait,
    /// Close the sending side (shutdown) and continue to read. Data that arrives after the shutdown is dropped.
    EndSide,
    /// The caller must close the connection.
    Close(End),
}

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// The socket reported an error.
    Reset,
    /// The peer violated the protocol.
    Fault,
}

/// Returns the time of the monotonic clock, milliseconds. All times of a connection use this clock.
pub(crate) fn now_ms() -> u32 {
    (sys::clock::monotonic_ns() / 1_000_000) as u32
}

/// State of one connection.
pub(crate) struct Connection {
    session: BoxedSession,
    /// True if the connection ends once all output is written.
    closing: bool,
    /// Used with `closing`: true if reading must continue after the sending side is closed. Closing the connection
    /// immediately could destroy the last reply.
    linger: bool,
    input_ended: bool,
    pub(crate) activity: Activity,
}

impl Connection {
    /// Creates the state of a new connection. If `parked` is true, the server at first neither reads from nor writes to
    /// the connection (see [`Activity::parked`]).
    pub(crate) fn new(session: BoxedSession, now_ms: u32, parked: bool) -> Self {
        let activity = Activity::new(now_ms, parked);
        Self { session, closing: false, linger: false, input_ended: false, activity }
    }

    /// Returns the session, so that another connection can use it.
    pub(crate) fn into_session(self) -> BoxedSession {
        self.session
    }

    /// Passes arrived data to the session. Returns the number of requests that the data completed.
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

    /// Records that the peer closed its side. Returns the number of requests that the end of the input completed.
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

    /// Returns true if the session would answer the next bytes with the same bytes. If the result is true, the I/O
    /// model may send received bytes back directly from its own buffer.
    pub(crate) fn mirrors(&self) -> bool {
        !self.closing && !self.activity.lingering && self.session.mirrors()
    }

    /// Records a request that the I/O model answered directly: it sent `bytes` bytes back from its own buffer.
    pub(crate) fn mirrored(&mut self, bytes: usize, now_ms: u32) {
        self.session.mirrored(bytes);
        self.activity.heard(1, false, now_ms);
    }

    /// Returns true if [`Connection::transmit`] would return bytes.
    pub(crate) fn wants_write(&self) -> bool {
        !self.holds_output() && self.session.wants_transmit()
    }

    /// Returns the time at which the connection will have more to write without further input. Returns `None` if the
    /// connection has nothing scheduled to write.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.session.due_ns().filter(|_| !self.holds_output())
    }

    /// Copies the next bytes to write into `out`, and returns their number; 0 if there are currently none.
    pub(crate) fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.holds_output() { 0 } else { self.session.transmit(out) }
    }

    fn holds_output(&self) -> bool {
        self.activity.lingering || self.activity.parked
    }

    /// Returns the next step after all bytes of `transmit` were written to the socket.
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

    /// Ends a request whose head is late: the session prepares an error response, and the connection ends after this
    /// response.
    pub(crate) fn head_is_late(&mut self) {
        self.session.head_is_late();
        self.closing = true;
    }

    /// Returns true if the connection reads input now.
    pub(crate) fn takes_input(&self) -> bool {
        !self.input_ended && !self.activity.parked && (!self.closing || self.activity.lingering)
    }
}
