//! One notification.

use std::os::fd::RawFd;

use crate::Mask;

/// One notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The declared descriptor.
    pub fd: RawFd,
    /// The kinds that hold, among those declared.
    pub mask: Mask,
    pub(crate) ended: bool,
    pub(crate) generation: u32,
}

impl Event {
    /// Returns true if the peer is known to have ended its side: the end of file follows the unread data, and no
    /// further event will report it. Check this if you stop reading at the first short read. select(2) and unchecked
    /// io_uring do not know; `false` means nothing there.
    #[inline]
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the number of this registration of the descriptor number. An event still in the caller's array after a
    /// close has an older generation than a new descriptor with that number. See [`EventQueue::is_current`].
    #[inline]
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }
}
