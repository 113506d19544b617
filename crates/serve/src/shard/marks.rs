//! What a loop keeps of each connection for deadlines and strategies.

/// Most bytes read and dropped from a peer that we have already said goodbye to.
const LINGER_BYTES: u32 = 1 << 20;

/// The marks of a connection. Times are milliseconds of the server's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// When bytes last came; while our side has ended: since when.
    pub(crate) heard_ms: u32,
    /// Since when output waits without progress; 0: it does not wait.
    pub(crate) blocked_ms: u32,
    /// Since when the head of a request is incomplete; 0: none is.
    pub(crate) head_since_ms: u32,
    /// It stands in the list of those.
    pub(super) head_watched: bool,
    /// Nothing is taken from this connection now: it waits for a place, or a limit holds it back.
    pub(crate) parked: bool,
    /// It completed a request since it got its place.
    pub(crate) served: bool,
    /// Our side has ended and the peer's has not; what it still sends is dropped.
    pub(crate) lingering: bool,
    /// How much of that there was.
    dropped: u32,
}

/// See [`Marks::head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadState {
    Came,
    Awaited,
    Late,
}

impl Marks {
    pub(crate) fn new(now_ms: u32, parked: bool) -> Self {
        Self { heard_ms: now_ms, parked, ..Self::default() }
    }

    /// It has a place again, and the time to use it.
    pub(crate) fn take_place(&mut self, now_ms: u32) {
        (self.parked, self.served, self.heard_ms) = (false, false, now_ms);
    }

    /// Our side ends here.
    pub(crate) fn linger(&mut self, now_ms: u32) {
        (self.lingering, self.heard_ms, self.head_since_ms) = (true, now_ms, 0);
    }

    /// Bytes of a peer that we have said goodbye to; true when they are too many.
    pub(crate) fn drops(&mut self, bytes: u32) -> bool {
        self.dropped = self.dropped.saturating_add(bytes);
        self.dropped > LINGER_BYTES
    }

    /// Bytes came, and completed so many requests; is the head of one incomplete now?
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

    /// How long it has brought nothing forward: bytes of a head that does not end are as good as none.
    pub(super) fn quiet_ms(&self, now_ms: u32) -> u32 {
        now_ms.saturating_sub(if self.head_since_ms == 0 { self.heard_ms } else { self.head_since_ms })
    }

    /// Whether its head is to be looked at for the first time.
    #[inline]
    pub(crate) fn begins_head(&mut self) -> bool {
        self.head_since_ms != 0 && !std::mem::replace(&mut self.head_watched, true)
    }

    /// What has become of a head that is being watched. Time without a place or behind our own output does not end it: we
    /// do not read then.
    pub(crate) fn head(&mut self, now_ms: u32, most_ms: u32) -> HeadState {
        if !self.head_watched || self.head_since_ms == 0 {
            self.head_watched = false;
            return HeadState::Came;
        }
        let held_up = self.parked || self.blocked_ms != 0;
        let late = now_ms.saturating_sub(self.head_since_ms) >= most_ms;
        if late && !held_up { HeadState::Late } else { HeadState::Awaited }
    }
}
