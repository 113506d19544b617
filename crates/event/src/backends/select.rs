//! select(2), for comparison: every call passes three bitmaps to the kernel. The width of the bitmaps depends on the
//! highest declared descriptor. A call of select(2) is level-triggered: it reports a descriptor again as long as the
//! descriptor stays ready. If the caller's buffer has too little space for all ready descriptors, later calls report
//! the remaining ones. A hang-up is reported as readable, and an error as readable and writable. Neither a hang-up nor
//! an error is reported as an exceptional condition.

use std::os::fd::RawFd;

use sys::Errno;
use sys::poll;
use sys::select::{FdSet, select};

use super::wait::check_open;
use crate::table::Table;
use crate::{Event, Mask};

#[derive(Debug, Default)]
pub(crate) struct SelectQueue {
    /// Sets of descriptors with declared interest: in reading, in writing, and in exceptional conditions.
    declared: [FdSet; 3],
    /// Sets of ready descriptors that the last select(2) returned.
    found: [FdSet; 3],
    /// Highest declared descriptor; -1 for none.
    highest: Highest,
    pub(super) table: Table,
    /// Descriptor at which the next scan for ready descriptors starts.
    turn: RawFd,
}

#[derive(Debug)]
struct Highest(RawFd);

impl Default for Highest {
    fn default() -> Self {
        Self(-1)
    }
}

const KINDS: [Mask; 3] = [Mask::READ, Mask::WRITE, Mask::EXCEPT];

impl SelectQueue {
    pub(super) fn declare(&mut self, fd: RawFd, mask: Mask, _told: bool) -> sys::Result<()> {
        if !self.table.reaches(fd) {
            check_open(fd)?;
        }
        let slot = self.table.open(fd);
        if slot.wanted.is_none() {
            slot.generation = slot.generation.wrapping_add(1);
        }
        slot.wanted = mask;
        for (set, kind) in self.declared.iter_mut().zip(KINDS) {
            if mask.contains(kind) { set.insert(fd) } else { set.remove(fd) }
        }
        if mask.is_none() {
            self.lower();
        } else {
            self.highest.0 = self.highest.0.max(fd);
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, fd: RawFd) {
        if let Some(slot) = self.table.get(fd) {
            slot.wanted = Mask::NONE;
            self.declared.iter_mut().for_each(|set| set.remove(fd));
            self.lower();
        }
    }

    /// Finds the new highest declared descriptor after the previous one was removed.
    fn lower(&mut self) {
        while self.highest.0 >= 0 && self.table.copy(self.highest.0).wanted.is_none() {
            self.highest.0 -= 1;
        }
    }

    pub(super) fn next(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        let found = loop {
            for (found, declared) in self.found.iter_mut().zip(&self.declared) {
                found.copy_from(declared, self.highest.0);
            }
            let [read, write, except] = &mut self.found;
            match select(self.highest.0, read, write, except, timeout_ns) {
                Err(Errno::BADF) => self.drop_closed()?,
                outcome => break outcome?,
            }
        };
        Ok(if found == 0 { 0 } else { self.deliver(out) })
    }

    fn deliver(&mut self, out: &mut [Event]) -> usize {
        let words = self.highest.0 as usize / 64 + 1;
        let (first, low) = (self.turn as usize / 64 % words, (1_u64 << (self.turn % 64)) - 1);
        let mut at = 0;
        // The scan starts at a bit within a word of the bitmaps. The scan begins with the bits from this bit to the end
        // of its word, and ends with the earlier bits of that word.
        for step in 0..=words {
            let word = (first + step) % words;
            let part = if step == 0 {
                !low
            } else if step == words {
                low
            } else {
                !0
            };
            let [read, write, except] = [0, 1, 2].map(|kind: usize| self.found[kind].word(word));
            let mut any = (read | write | except) & part;
            while any != 0 && at < out.len() {
                let bit = any.trailing_zeros();
                any &= any - 1;
                let fd = word as RawFd * 64 + bit as RawFd;
                let state = (read >> bit & 1) | (write >> bit & 1) << 1 | (except >> bit & 1) << 2;
                let slot = self.table.copy(fd);
                let mask = Mask::from_bits(state as u32) & slot.wanted;
                out[at] = Event { fd, mask, ended: false, generation: slot.generation };
                at += 1;
                self.turn = fd + 1;
            }
        }
        at
    }

    /// Removes every declared descriptor that is no longer open. The function is needed because a single closed
    /// descriptor makes the whole select(2) fail.
    fn drop_closed(&mut self) -> sys::Result<()> {
        for fd in 0..=self.highest.0 {
            if !self.table.copy(fd).wanted.is_none() && poll::now(fd, 0)? & poll::NVAL != 0 {
                self.forget(fd);
            }
        }
        Ok(())
    }
}
