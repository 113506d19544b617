//! Times and flags of a connection, which deadlines and strategies use.

/// Maximum time for reading from a connection after the server has closed its sending side, milliseconds.
pub(crate) const LINGER_MS: u32 = 2000;
/// Maximum number of bytes that are read and dropped after the server has closed its sending side.
const LINGER_BYTES: u32 = 1 << 20;

/// Times and flags of one connection. Times are in milliseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// Time at which data last arrived, at which the connection got its worker slot, or at which the server began to
    /// read from it again. After the server has closed its sending side, the field contains the time of this close.
    pub(crate) heard_ms: u32,
    /// Time of the last send that left output waiting; 0 if no output waits.
    pub(crate) blocked_ms: u32,
    /// Time at which the head of the current request began, if this head is incomplete; otherwise 0.
    head_since_ms: u32,
    /// True if the connection is in the list of connections whose heads have a deadline.
    head_watched: bool,
    /// True if the server neither reads from nor writes to the connection. A parked connection waits for a worker slot,
    /// or waits because too many other connections have waiting output (strategy `limits`).
    pub(crate) parked: bool,
    /// True if the connection has completed a request since it got its worker slot.
    pub(crate) served: bool,
    /// True if the server has closed its sending side and the peer has not. Data that still arrives is dropped.
    pub(crate) lingering: bool,
    /// Number of bytes dropped since the server closed its sending side.
    dropped_bytes: u32,
}

/// State of the head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadState {
    Complete,
    Incomplete,
    Late,
}

impl Activity {
    pub(crate) fn new(now_ms: u32, parked: bool) -> Self {
        Self { heard_ms: now_ms, parked, ..Self::default() }
    }

    /// Restarts the time for which the peer may be silent, because the server begins to read from the connection again.
    pub(crate) fn read_again(&mut self, now_ms: u32) {
        self.heard_ms = now_ms;
    }

    /// Gives the connection a worker slot and restarts its idle time.
    pub(crate) fn take_slot(&mut self, now_ms: u32) {
        (self.parked, self.served, self.heard_ms) = (false, false, now_ms);
    }

    pub(super) fn begin_linger(&mut self, now_ms: u32) {
        (self.lingering, self.heard_ms, self.head_since_ms) = (true, now_ms, 0);
    }

    /// Counts bytes that are dropped after the server has closed its sending side. Returns true if more than
    /// `LINGER_BYTES` bytes were dropped.
    pub(super) fn drops_too_much(&mut self, bytes: u32) -> bool {
        self.dropped_bytes = self.dropped_bytes.saturating_add(bytes);
        self.dropped_bytes > LINGER_BYTES
    }

    /// Returns true if at least [`LINGER_MS`] have passed since the server closed its sending side.
    pub(crate) fn lingered_enough(&self, now_ms: u32) -> bool {
        self.lingering && now_ms.saturating_sub(self.heard_ms) >= LINGER_MS
    }

    /// Records that the socket has not yet accepted all output.
    pub(crate) fn output_waits(&mut self, now_ms: u32) {
        self.blocked_ms = now_ms.max(1);
    }

    /// Records that the socket accepted all output.
    pub(crate) fn output_left(&mut self) {
        self.blocked_ms = 0;
    }

    /// Records that data arrived. `completed` is the number of requests that the data completed; `awaits_head` is true
    /// if the head of a request is incomplete after this data.
    #[inline]
    pub(crate) fn heard(&mut self, completed: u32, awaits_head: bool, now_ms: u32) {
        self.served |= completed > 0;
        self.heard_ms = now_ms;
        if !awaits_head {
            self.head_since_ms = 0;
        } else if completed > 0 || self.head_since_ms == 0 {
            self.head_since_ms = now_ms.max(1);
        }
    }

    /// Returns the time since the connection last made progress, milliseconds. The arrival of bytes of an incomplete
    /// head does not count as progress.
    pub(crate) fn quiet_ms(&self, now_ms: u32) -> u32 {
        now_ms.saturating_sub(if self.head_since_ms == 0 { self.heard_ms } else { self.head_since_ms })
    }

    /// Returns true the first time that a connection's head is incomplete. If the result is true, the caller must start
    /// to check the head's deadline.
    #[inline]
    pub(crate) fn starts_head_watch(&mut self) -> bool {
        self.head_since_ms != 0 && !std::mem::replace(&mut self.head_watched, true)
    }

    /// Returns the time that is left for an incomplete head, milliseconds; `None` if no head is incomplete. The head of
    /// a request may take at most `most_ms` to arrive.
    pub(crate) fn head_left_ms(&self, now_ms: u32, most_ms: u32) -> Option<u32> {
        let begun = self.head_since_ms != 0;
        begun.then(|| most_ms.saturating_sub(now_ms.saturating_sub(self.head_since_ms)))
    }

    /// Checks the deadline of a head. The server does not read from a connection without a worker slot or with unsent
    /// output. While the server does not read from a connection, the head of its request does not count as late.
    pub(crate) fn check_head(&mut self, now_ms: u32, most_ms: u32) -> HeadState {
        let left_ms = self.head_left_ms(now_ms, most_ms).filter(|_| self.head_watched);
        let Some(left_ms) = left_ms else {
            self.head_watched = false;
            return HeadState::Complete;
        };
        let held_up = self.parked || self.blocked_ms != 0;
        if left_ms == 0 && !held_up { HeadState::Late } else { HeadState::Incomplete }
    }
}
