//! Edge-triggered epoll. Each of epoll's data structures corresponds to one in the paper by Banga, Mogul and Druschel
//! (see `lib.rs`). The kernel's ready list corresponds to the HINTS queue in the paper by Banga, Mogul and Druschel.
//! Membership in the ready list corresponds to the pending bit in the paper by Banga, Mogul and Druschel. An entry is
//! not added a second time, so the list cannot overflow. At delivery, the kernel checks a file's state again, as does
//! the event API in the paper by Banga, Mogul and Druschel.
//!
//! This backend differs from the paper by Banga, Mogul and Druschel in the events that a declaration causes. Declaring
//! interest in a ready descriptor queues an event, even if the caller did not ask for the state (`want_state`). In the
//! paper by Banga, Mogul and Druschel, the declaration queues no event; only the next arrival does. Source:
//! fs/eventpoll.c.

use std::os::fd::RawFd;

use sys::Errno;
use sys::epoll::{Epoll, Interest};
use sys::epoll_raw::{self, Slots};

use super::wait::{Remaining, ended};
use crate::options::{Options, Revocation};
use crate::table::{Table, descriptor, token};
use crate::{Event, Mask};

#[derive(Debug)]
pub(crate) struct EpollQueue {
    epoll: Epoll,
    slots: Slots,
    pub(super) table: Table,
    lazy: bool,
}

impl EpollQueue {
    pub(super) fn new(options: &Options) -> sys::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            slots: Slots::default(),
            table: Table::default(),
            lazy: options.revocation == Revocation::Lazy,
        })
    }

    pub(super) fn declare(&mut self, fd: RawFd, mask: Mask, told: bool) -> sys::Result<()> {
        let slot = self.table.copy(fd);
        if mask.is_none() {
            return self.revoke(fd, slot.armed);
        }
        if self.lazy && slot.armed.contains(mask) {
            self.table.open(fd).wanted = mask;
            // When the registration is modified, the kernel checks the state again. The kernel's check is unnecessary
            // if the caller reads the state itself.
            return if told { Ok(()) } else { self.modify(fd, slot.generation, slot.armed, mask) };
        }
        if slot.armed.is_none() {
            return self.add(fd, mask);
        }
        let armed = if self.lazy { slot.armed | mask } else { mask };
        self.modify(fd, slot.generation, armed, mask)
    }

    fn add(&mut self, fd: RawFd, mask: Mask) -> sys::Result<()> {
        let generation = self.table.copy(fd).generation.wrapping_add(1);
        match epoll_raw::add(&self.epoll, fd, token(fd, generation), bits(mask)) {
            // The registered descriptor was closed while a duplicate kept the file open. After the close, the
            // descriptor's number was given to another duplicate of the same file.
            Err(Errno::EXIST) => epoll_raw::modify(&self.epoll, fd, token(fd, generation), bits(mask))?,
            outcome => outcome?,
        }
        let slot = self.table.open(fd);
        (slot.generation, slot.armed, slot.wanted) = (generation, mask, mask);
        Ok(())
    }

    fn modify(&mut self, fd: RawFd, generation: u32, armed: Mask, wanted: Mask) -> sys::Result<()> {
        match epoll_raw::modify(&self.epoll, fd, token(fd, generation), bits(armed)) {
            Ok(()) => {
                let slot = self.table.open(fd);
                (slot.armed, slot.wanted) = (armed, wanted);
                Ok(())
            }
            // The registered descriptor was closed without a call of `forget`, and its number now belongs to another
            // descriptor.
            Err(Errno::NOENT) => self.add(fd, wanted),
            Err(e) => {
                self.clear(fd);
                Err(e)
            }
        }
    }

    fn revoke(&mut self, fd: RawFd, armed: Mask) -> sys::Result<()> {
        if armed.is_none() {
            return super::wait::check_open(fd);
        }
        if self.lazy {
            self.table.open(fd).wanted = Mask::NONE;
            return Ok(());
        }
        self.clear(fd);
        match epoll_raw::delete(&self.epoll, fd) {
            Err(Errno::NOENT) => Ok(()),
            outcome => outcome,
        }
    }

    pub(super) fn forget(&mut self, fd: RawFd) {
        if !self.table.copy(fd).armed.is_none() {
            self.clear(fd);
            // Removing fails only if the descriptor was already closed. When a descriptor is closed, the kernel removes
            // the registration, unless a duplicate keeps the file open.
            let _ = epoll_raw::delete(&self.epoll, fd);
        }
    }

    /// Removes the interest in a descriptor, and makes all its undelivered events outdated.
    fn clear(&mut self, fd: RawFd) {
        if let Some(slot) = self.table.get(fd) {
            (slot.armed, slot.wanted) = (Mask::NONE, Mask::NONE);
            slot.generation = slot.generation.wrapping_add(1);
        }
    }

    #[inline]
    pub(super) fn next(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        let arrived = epoll_raw::wait(&self.epoll, &mut self.slots, out.len(), timeout_ns)?;
        let delivered = self.deliver(out);
        if delivered > 0 || arrived == 0 { Ok(delivered) } else { self.next_again(out, timeout_ns) }
    }

    /// Repeats the wait of a call for the remaining time. The first wait of this call returned only events that were
    /// outdated or no longer wanted.
    #[cold]
    fn next_again(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        let mut remaining = Remaining::new(timeout_ns);
        while let Some(left) = remaining.again() {
            let arrived = epoll_raw::wait(&self.epoll, &mut self.slots, out.len(), left)?;
            let delivered = self.deliver(out);
            if delivered > 0 || arrived == 0 {
                return Ok(delivered);
            }
        }
        Ok(0)
    }

    #[inline]
    fn deliver(&mut self, out: &mut [Event]) -> usize {
        let mut at = 0;
        for event in self.slots.iter() {
            let Some(slot) = self.table.current(event.token) else { continue };
            let found = event.flags.bits() as i16;
            let mask = Mask::from_poll(found) & slot.wanted;
            if !mask.is_none()
                && let Some(place) = out.get_mut(at)
            {
                *place = Event { fd: descriptor(event.token), mask, ended: ended(found), generation: slot.generation };
                at += 1;
            }
        }
        at
    }
}

/// Converts an interest to epoll bits, which have the same values as poll bits.
#[inline]
fn bits(mask: Mask) -> Interest {
    Interest::from_bits_retain(mask.to_poll() as u16 as u32) | Interest::ET
}
