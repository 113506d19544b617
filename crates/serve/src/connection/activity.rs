//! Times and flags of a connection that deadlines and strategies look at.

/// Longest time that a peer is read after our side has ended, milliseconds.
pub(crate) const LINGER_MS: u32 = 2000;
/// Most bytes read and dropped after our side has ended.
const LINGER_BYTES: u32 = 1 << 20;

/// Times and flags of one connection. Times are milliseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// Last arrival of bytes. While the connection lingers: the end of our side.
    pub(crate) heard_ms: u32,
    /// Last progress of output that the socket did not take yet; 0 when no output waits.
    pub(crate) blocked_ms: u32,
    /// Begin of the request head that is incomplete; 0 when none is.
    head_since_ms: u32,
    /// The connection is in the list of incomplete heads.
    head_watched: bool,
    /// The connection is neither read nor written now: it waits for a slot, or a limit holds it back.
    pub(crate) parked: bool,
    /// The connection has completed a request since it got its slot.
    pub(crate) served: bool,
    /// Our side has ended and the peer's has not. Bytes that still arrive are dropped.
    pub(crate) lingering: bool,
    /// Bytes dropped while lingering.
    dropped_bytes: u32,
}

/// State of a request head that is being watched.
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

    /// Gives the connection a slot, and the time to use it.
    pub(crate) fn take_slot(&mut self, now_ms: u32) {
        (self.parked, self.served, self.heard_ms) = (false, false, now_ms);
    }

    pub(super) fn begin_linger(&mut self, now_ms: u32) {
        (self.lingering, self.heard_ms, self.head_since_ms) = (true, now_ms, 0);
    }

    /// Counts bytes that are dropped while lingering. Returns whether they are too many.
    pub(super) fn drops_too_much(&mut self, bytes: u32) -> bool {
        self.dropped_bytes = self.dropped_bytes.saturating_add(bytes);
        self.dropped_bytes > LINGER_BYTES
    }

    /// Returns whether the peer had its time to end its side.
    pub(crate) fn lingered_enough(&self, now_ms: u32) -> bool {
        self.lingering && now_ms.saturating_sub(self.heard_ms) >= LINGER_MS
    }

    /// Notes that the socket took some output but not all of it.
    pub(crate) fn output_waits(&mut self, now_ms: u32) {
        self.blocked_ms = now_ms.max(1);
    }

    /// Notes that the socket took all output.
    pub(crate) fn output_left(&mut self) {
        self.blocked_ms = 0;
    }

    /// Notes arrived bytes, how many requests they completed, and whether the head of a request is incomplete now.
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

    /// Returns for how long the connection has made no progress. Bytes of an incomplete head are no progress.
    pub(crate) fn quiet_ms(&self, now_ms: u32) -> u32 {
        now_ms.saturating_sub(if self.head_since_ms == 0 { self.heard_ms } else { self.head_since_ms })
    }

    /// Returns true once for each incomplete head: the caller is to watch it from now on.
    #[inline]
    pub(crate) fn starts_head_watch(&mut self) -> bool {
        self.head_since_ms != 0 && !std::mem::replace(&mut self.head_watched, true)
    }

    /// Returns the time left for an incomplete head that may take `most_ms`.
    pub(crate) fn head_left_ms(&self, now_ms: u32, most_ms: u32) -> Option<u32> {
        let begun = self.head_since_ms != 0;
        begun.then(|| most_ms.saturating_sub(now_ms.saturating_sub(self.head_since_ms)))
    }

    /// Checks a watched head. A connection is never late while it has no slot or its output waits, since
    /// it is not read then.
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
