//! What the queue knows of each descriptor, by its number. A generation, counted up at each new registration, tells
//! an event of a descriptor that was closed from one of a descriptor that now has the same number.

use std::os::fd::RawFd;

use crate::Mask;

/// One descriptor number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Of the registration that is current.
    pub(crate) generation: u32,
    /// What the application wants.
    pub(crate) wanted: Mask,
    /// What the kernel was told; none when it knows nothing of the descriptor.
    pub(crate) armed: Mask,
    /// A notification is in the queue already (kept by back ends that have their own queue).
    pub(crate) pending: bool,
    /// The registration failed later; to be told as an event of every kind.
    pub(crate) failed: bool,
    /// The application said that nothing is left to read, and no notification has come since.
    pub(crate) drained: bool,
    /// The pending notification came after that, so `told` still holds.
    pub(crate) sure: bool,
    /// The poll bits of a sure notification.
    pub(crate) told: i16,
}

/// All descriptor numbers up to the highest that was used.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
}

impl Table {
    /// The slot of a number that is known to be an open descriptor (so that the table cannot grow without bound).
    #[inline]
    pub(crate) fn open(&mut self, fd: RawFd) -> &mut Slot {
        let at = usize::try_from(fd).unwrap_or(0);
        if at >= self.slots.len() {
            self.slots.resize((at + 1).next_power_of_two(), Slot::default());
        }
        &mut self.slots[at]
    }

    /// The slot of a number, if it ever was used.
    #[inline]
    pub(crate) fn get(&mut self, fd: RawFd) -> Option<&mut Slot> {
        self.slots.get_mut(fd as usize)
    }

    /// A copy of the slot of a number; an unused one if it never was used.
    #[inline]
    pub(crate) fn copy(&self, fd: RawFd) -> Slot {
        self.slots.get(fd as usize).copied().unwrap_or_default()
    }

    /// Whether the table reaches this number.
    #[inline]
    pub(crate) fn reaches(&self, fd: RawFd) -> bool {
        (fd as usize) < self.slots.len()
    }

    /// The slot that a token belongs to, unless the token is of an earlier registration.
    #[inline]
    pub(crate) fn current(&mut self, token: u64) -> Option<&mut Slot> {
        self.slots.get_mut(token as u32 as usize).filter(|slot| slot.generation == (token >> 32) as u32)
    }
}

/// Descriptor and generation in one number.
#[inline]
pub(crate) const fn token(fd: RawFd, generation: u32) -> u64 {
    (generation as u64) << 32 | fd as u32 as u64
}

/// The descriptor of a token.
#[inline]
pub(crate) const fn descriptor(token: u64) -> RawFd {
    token as u32 as RawFd
}
