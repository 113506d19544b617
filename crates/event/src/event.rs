//! One notification.

use std::os::fd::RawFd;

use crate::Mask;

/// One notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The descriptor that was declared.
    pub fd: RawFd,
    /// What holds for it, of the kinds that were declared.
    pub mask: Mask,
    pub(crate) ended: bool,
    pub(crate) generation: u32,
}

impl Event {
    /// Whether it is known that the peer has ended its side: behind what there is to read, the end follows, and no
    /// further event will tell of it. Who stops reading at the first short read looks at this. select(2) and
    /// unchecked io_uring do not know; `false` says nothing there.
    #[inline]
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// Counts the registrations of this descriptor number: an event that is still in the caller's array when the
    /// caller closes the descriptor, and gets the number again for another, has an older generation than the new one.
    /// See [`EventQueue::is_current`].
    #[inline]
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }
}
