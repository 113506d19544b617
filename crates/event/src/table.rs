//! State of each descriptor by its number. Each new registration increments a generation. It distinguishes events of a
//! closed descriptor from those of a new one with the same number.

use std::os::fd::RawFd;

use crate::Mask;

/// State of one descriptor number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Generation of the current registration.
    pub(crate) generation: u32,
    /// Interest of the application.
    pub(crate) wanted: Mask,
    /// Interest known to the kernel; none if the kernel does not know the descriptor.
    pub(crate) armed: Mask,
    /// True if a notification is in the queue already (used by backends with their own queue).
    pub(crate) pending: bool,
    /// True if the registration failed later; reported as an event of every kind.
    pub(crate) failed: bool,
    /// True if the application reported that nothing is left to read, and no notification has come since.
    pub(crate) drained: bool,
    /// True if the pending notification came after that, so `told` still holds.
    pub(crate) sure: bool,
    /// Poll bits of a certain notification.
    pub(crate) told: i16,
}

/// All descriptor numbers up to the highest used.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
}

impl Table {
    /// Returns the slot of a number known to be an open descriptor (so that the table's size stays bounded).
    #[inline]
    pub(crate) fn open(&mut self, fd: RawFd) -> &mut Slot {
        let at = usize::try_from(fd).unwrap_or(0);
        if at >= self.slots.len() {
            self.slots.resize((at + 1).next_power_of_two(), Slot::default());
        }
        &mut self.slots[at]
    }

    /// Returns the slot of a number, if ever used.
    #[inline]
    pub(crate) fn get(&mut self, fd: RawFd) -> Option<&mut Slot> {
        self.slots.get_mut(fd as usize)
    }

    /// Copies the slot of a number; an unused one if never used.
    #[inline]
    pub(crate) fn copy(&self, fd: RawFd) -> Slot {
        self.slots.get(fd as usize).copied().unwrap_or_default()
    }

    /// Returns true if the table covers this number.
    #[inline]
    pub(crate) fn reaches(&self, fd: RawFd) -> bool {
        (fd as usize) < self.slots.len()
    }

    /// Returns the slot of a token, unless the token is of an earlier registration.
    #[inline]
    pub(crate) fn current(&mut self, token: u64) -> Option<&mut Slot> {
        self.slots.get_mut(token as u32 as usize).filter(|slot| slot.generation == (token >> 32) as u32)
    }
}

/// Combines descriptor and generation in one number.
#[inline]
pub(crate) const fn token(fd: RawFd, generation: u32) -> u64 {
    (generation as u64) << 32 | fd as u32 as u64
}

/// Returns the descriptor of a token.
#[inline]
pub(crate) const fn descriptor(token: u64) -> RawFd {
    token as u32 as RawFd
}
