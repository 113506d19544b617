//! State of each descriptor, indexed by descriptor number. Each registration of a descriptor increments the generation
//! of its number. Events of a closed descriptor have an older generation than events of a new descriptor with the same
//! number.

use std::os::fd::RawFd;

use crate::Mask;

/// State of one descriptor number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Generation of the current registration.
    pub(crate) generation: u32,
    /// Interest that the application declared.
    pub(crate) wanted: Mask,
    /// Interest that is registered in the kernel; empty if the descriptor is not registered.
    pub(crate) armed: Mask,
    /// True if a notification of the descriptor is already queued. Only backends with their own queue use the flag
    /// `pending`.
    pub(crate) pending: bool,
    /// True if the registration in the kernel failed after the application had declared its interest. The next event
    /// then reports every kind that the application declared, so the application notices the failure.
    pub(crate) failed: bool,
    /// True if the application reported that it has read everything, and no notification has arrived since then.
    pub(crate) drained: bool,
    /// True if the pending notification arrived after the application had read everything, so the poll bits in `told`
    /// are still correct.
    pub(crate) sure: bool,
    /// Poll bits of the pending notification. If `sure` is true, the poll bits in `told` are not checked again at
    /// delivery.
    pub(crate) told: i16,
}

/// The states of all descriptor numbers up to the highest number used.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
}

impl Table {
    /// Returns the state of an open descriptor. Callers must pass only numbers of open descriptors, so that the size of
    /// the table stays limited.
    #[inline]
    pub(crate) fn open(&mut self, fd: RawFd) -> &mut Slot {
        let at = usize::try_from(fd).unwrap_or(0);
        if at >= self.slots.len() {
            self.slots.resize((at + 1).next_power_of_two(), Slot::default());
        }
        &mut self.slots[at]
    }

    /// Returns the state of the descriptor `fd`; `None` if `fd` is larger than the largest descriptor number in the
    /// table.
    #[inline]
    pub(crate) fn get(&mut self, fd: RawFd) -> Option<&mut Slot> {
        self.slots.get_mut(fd as usize)
    }

    /// Copies the state of a descriptor number. A descriptor number that was never used has the default state.
    #[inline]
    pub(crate) fn copy(&self, fd: RawFd) -> Slot {
        self.slots.get(fd as usize).copied().unwrap_or_default()
    }

    /// Returns true if the table covers the descriptor number `fd`.
    #[inline]
    pub(crate) fn reaches(&self, fd: RawFd) -> bool {
        (fd as usize) < self.slots.len()
    }

    /// Returns the state of a token's descriptor, or `None` if the token belongs to an earlier registration.
    #[inline]
    pub(crate) fn current(&mut self, token: u64) -> Option<&mut Slot> {
        self.slots.get_mut(token as u32 as usize).filter(|slot| slot.generation == (token >> 32) as u32)
    }
}

/// Combines a descriptor number and a generation into one number.
#[inline]
pub(crate) const fn token(fd: RawFd, generation: u32) -> u64 {
    (generation as u64) << 32 | fd as u32 as u64
}

/// Returns the descriptor of a token.
#[inline]
pub(crate) const fn descriptor(token: u64) -> RawFd {
    token as u32 as RawFd
}
