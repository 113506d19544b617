//! poll(2), for comparison: every call passes the array of all declared descriptors to the kernel. A call of poll(2) is
//! level-triggered: it reports a descriptor again as long as the descriptor stays ready. If the caller's buffer has too
//! little space for all ready descriptors, later calls report the remaining ones.

use std::os::fd::RawFd;

use sys::poll::{self, Entry};

use super::wait::{check_open, ended};
use crate::table::Table;
use crate::{Event, Mask};

#[derive(Debug, Default)]
pub(crate) struct PollQueue {
    entries: Vec<Entry>,
    /// Index of each descriptor in `entries`, plus 1; 0 for a descriptor that is not declared.
    places: Vec<u32>,
    pub(super) table: Table,
    /// Index in `entries` at which the next scan for ready descriptors starts.
    turn: usize,
}

impl PollQueue {
    pub(super) fn declare(&mut self, fd: RawFd, mask: Mask, _told: bool) -> sys::Result<()> {
        if !self.table.reaches(fd) {
            check_open(fd)?;
        }
        if mask.is_none() {
            self.forget(fd);
            return Ok(());
        }
        let slot = self.table.open(fd);
        let new = slot.wanted.is_none();
        slot.wanted = mask;
        if new {
            slot.generation = slot.generation.wrapping_add(1);
            self.entries.push(Entry::new(fd, mask.to_poll()));
            *self.place(fd) = self.entries.len() as u32;
        } else {
            let at = *self.place(fd) as usize - 1;
            self.entries[at].ask(mask.to_poll());
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, fd: RawFd) {
        let Some(slot) = self.table.get(fd) else { return };
        if slot.wanted.is_none() {
            return;
        }
        slot.wanted = Mask::NONE;
        let at = std::mem::take(self.place(fd)) as usize - 1;
        self.entries.swap_remove(at);
        if let Some(moved) = self.entries.get(at) {
            *self.place(moved.fd()) = at as u32 + 1;
        }
    }

    fn place(&mut self, fd: RawFd) -> &mut u32 {
        let at = usize::try_from(fd).unwrap_or(0);
        if at >= self.places.len() {
            self.places.resize((at + 1).next_power_of_two(), 0);
        }
        &mut self.places[at]
    }

    pub(super) fn next(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        let mut found = poll::poll(&mut self.entries, timeout_ns)?;
        let (mut at, mut closed) = (0, None);
        let (length, start) = (self.entries.len(), self.turn);
        for step in 0..length {
            if found == 0 || at == out.len() {
                break;
            }
            let place = (start + step) % length;
            let entry = self.entries[place];
            if entry.found() == 0 {
                continue;
            }
            found -= 1;
            self.turn = place + 1;
            if entry.found() & poll::NVAL != 0 {
                closed = Some(entry.fd());
                continue;
            }
            let slot = self.table.copy(entry.fd());
            let mask = Mask::from_poll(entry.found()) & slot.wanted;
            if !mask.is_none() {
                out[at] = Event { fd: entry.fd(), mask, ended: ended(entry.found()), generation: slot.generation };
                at += 1;
            }
        }
        // `closed` is a descriptor that was closed without a call of `forget`. Each call of `next` drops one closed
        // descriptor. Until all closed descriptors are dropped, the kernel's waits return immediately.
        if let Some(fd) = closed {
            self.forget(fd);
            if at == 0 {
                return self.next(out, timeout_ns);
            }
        }
        Ok(at)
    }
}
