//! A notification about one descriptor.

use std::os::fd::RawFd;

use crate::Mask;

/// A notification about one descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Descriptor that the event is about.
    pub fd: RawFd,
    /// Declared kinds of events that are true at delivery, such as "can be read". With io_uring and without `recheck`,
    /// the mask has all declared kinds.
    pub mask: Mask,
    pub(crate) ended: bool,
    pub(crate) generation: u32,
}

impl Event {
    /// Returns true if the peer has closed its side, or if the connection has failed. The end of file comes after the
    /// unread data, and no further event reports this end. A caller that stops reading after a short read must call
    /// this function to notice the end of file. With select(2), and with io_uring if `recheck` is off, the result is
    /// always `false` and has no meaning.
    #[inline]
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the generation of the registration to which this event belongs. Each new registration of a descriptor
    /// number has a higher generation. An event of a closed descriptor has a lower generation than events of a new
    /// descriptor with the same number. See [`EventQueue::is_current`].
    #[inline]
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }
}
