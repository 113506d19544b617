//! io_uring, with one multishot poll per descriptor. Each completion adds a hint (a note that a descriptor may be
//! ready) to a FIFO queue in user space. For each descriptor, a pending bit prevents a second hint while the first hint
//! is queued. The hint queue and the pending bits come from the paper by Banga, Mogul and Druschel (see `lib.rs`). In
//! the paper by Banga, Mogul and Druschel, the kernel maintains the hint queue and the pending bits. Declarations of
//! interest are collected, and the next wait submits them to the kernel. A wait that finds hints, and has nothing to
//! submit or check, needs no system call.
//!
//! Before delivery, one call of poll(2) checks the current state of the descriptors, as in the paper by Banga, Mogul
//! and Druschel. A descriptor needs no check if new data arrived after the application had reported that it has read
//! everything ([`EventQueue::drained`](crate::EventQueue::drained)). Data that arrives after the application has read
//! everything must still be unread, because only the application can read it. Without the check at delivery
//! ([`Options::recheck`](crate::Options)), events may be outdated.
//!
//! The kernel may end a multishot poll, for example because the completion queue overflowed. A poll that the kernel has
//! ended is armed again. A newly armed poll also reports data that has already arrived, so no event is lost. Source:
//! io_uring/poll.c.

use std::collections::VecDeque;
use std::os::fd::RawFd;

use sys::Errno;
use sys::poll::{self, Entry};
use sys::poll_ring::{Completion, PollRing, TaskRun};

use super::wait::{Remaining, check_open, ended};
use crate::options::{Options, Revocation};
use crate::table::{Slot, Table, descriptor, token};
use crate::{Event, Mask};

/// Maximum number of collected declarations. If more declarations are collected, an additional system call submits
/// them.
const BATCH: u32 = 256;

#[derive(Debug)]
pub(crate) struct UringQueue {
    ring: PollRing,
    pub(super) table: Table,
    /// Tokens of descriptors with possible events, oldest first. A token of an outdated generation (of a descriptor
    /// that was closed) is skipped.
    hints: VecDeque<u64>,
    /// Descriptors whose polls the kernel has ended. Polls that the kernel has ended must be armed again.
    ended: Vec<RawFd>,
    checks: Vec<Entry>,
    lazy: bool,
    recheck: bool,
}

impl UringQueue {
    pub(super) fn new(options: &Options) -> sys::Result<Self> {
        Ok(Self {
            ring: PollRing::new(BATCH, TaskRun::Cooperative)?,
            table: Table::default(),
            hints: VecDeque::with_capacity(1024),
            ended: Vec::new(),
            checks: Vec::new(),
            lazy: options.revocation == Revocation::Lazy,
            recheck: options.recheck,
        })
    }

    pub(super) fn declare(&mut self, fd: RawFd, mask: Mask, told: bool) -> sys::Result<()> {
        if !self.table.reaches(fd) {
            check_open(fd)?;
        }
        let lazy = self.lazy;
        let slot = self.table.open(fd);
        if mask.is_none() {
            if lazy {
                slot.wanted = Mask::NONE;
            } else {
                self.disarm(fd)?;
            }
            return Ok(());
        }
        if lazy && slot.armed.contains(mask) {
            slot.wanted = mask;
            if !told {
                // The next event must report the whole current state, and not only the bits of a completion. The flags
                // `drained` and `sure` are cleared, so the next delivery of events checks the descriptor's state.
                (slot.drained, slot.sure) = (false, false);
                if !std::mem::replace(&mut slot.pending, true) {
                    self.hints.push_back(token(fd, slot.generation));
                }
            }
            return Ok(());
        }
        self.disarm(fd)?;
        self.arm(fd, mask)
    }

    fn arm(&mut self, fd: RawFd, mask: Mask) -> sys::Result<()> {
        let slot = self.table.open(fd);
        slot.generation = slot.generation.wrapping_add(1);
        (slot.armed, slot.wanted, slot.failed) = (mask, mask, false);
        (slot.drained, slot.sure) = (false, false);
        self.ring.arm(fd, token(fd, slot.generation), mask.to_poll() as u16 as u32)
    }

    /// Ends the poll of a descriptor, and makes the poll's completions outdated.
    fn disarm(&mut self, fd: RawFd) -> sys::Result<()> {
        let Some(slot) = self.table.get(fd) else { return Ok(()) };
        let (was, old) = (slot.armed, token(fd, slot.generation));
        (slot.armed, slot.wanted, slot.pending) = (Mask::NONE, Mask::NONE, false);
        slot.generation = slot.generation.wrapping_add(1);
        if was.is_none() { Ok(()) } else { self.ring.disarm(old) }
    }

    pub(super) fn forget(&mut self, fd: RawFd) {
        // Disarming fails only if the kernel accepts no more requests. If the kernel accepts no more requests, it ends
        // the poll when the ring is closed.
        let _ = self.disarm(fd);
    }

    pub(super) fn flush(&mut self) -> sys::Result<()> {
        self.ring.submit()
    }

    pub(super) fn next(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        if self.ring.wants_enter() {
            self.ring.submit()?;
        }
        self.absorb()?;
        let delivered = self.deliver(out)?;
        if delivered > 0 || timeout_ns == Some(0) {
            return Ok(delivered);
        }
        self.ring.enter(timeout_ns)?;
        self.wait_on(out, timeout_ns)
    }

    /// Waits and delivers events. If all arrived events were outdated or no longer wanted, waits for the remaining
    /// time.
    fn wait_on(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        let mut remaining = Remaining::new(timeout_ns);
        loop {
            let arrived = self.absorb()?;
            let delivered = self.deliver(out)?;
            if delivered > 0 || arrived == 0 {
                return Ok(delivered);
            }
            let Some(left) = remaining.again() else { return Ok(0) };
            self.ring.enter(left)?;
        }
    }

    /// Reads all completions, adds the hints that they cause, and returns the number of completions.
    #[inline]
    fn absorb(&mut self) -> sys::Result<usize> {
        let (mut arrived, table, hints, ended) = (0, &mut self.table, &mut self.hints, &mut self.ended);
        self.ring.reap(|completion| {
            arrived += 1;
            note(completion, table, hints, ended);
        });
        while let Some(fd) = self.ended.pop() {
            self.arm_again(fd)?;
        }
        Ok(arrived)
    }

    /// Arms a poll again that the kernel has ended. Hints of the descriptor stay valid, because its generation does not
    /// change.
    fn arm_again(&mut self, fd: RawFd) -> sys::Result<()> {
        let slot = self.table.open(fd);
        if slot.armed.is_none() && !slot.wanted.is_none() {
            slot.armed = slot.wanted;
            let (token, events) = (token(fd, slot.generation), slot.wanted.to_poll());
            self.ring.arm(fd, token, events as u16 as u32)?;
        }
        Ok(())
    }

    fn deliver(&mut self, out: &mut [Event]) -> sys::Result<usize> {
        let mut at = 0;
        while at == 0 && !self.hints.is_empty() {
            at = if self.recheck { self.deliver_checked(out)? } else { self.deliver_unchecked(out) };
        }
        Ok(at)
    }

    /// Records that the application has read everything from `fd`. After a call of `drained`, notifications report data
    /// that was not read yet, so they need no check. Earlier notifications may report data that was already read, so
    /// delivery checks them.
    #[inline]
    pub(super) fn drained(&mut self, fd: RawFd) {
        // If a poll that the kernel has ended cannot be armed again now, the next call arms the poll or reports the
        // error.
        let _ = self.absorb();
        if let Some(slot) = self.table.get(fd) {
            (slot.drained, slot.sure) = (!slot.pending, false);
        }
    }

    /// Delivers hints in order, as many as fit into `out`. Checks uncertain hints with one poll(2).
    #[inline]
    fn deliver_checked(&mut self, out: &mut [Event]) -> sys::Result<usize> {
        self.checks.clear();
        let mut at = 0;
        while at < out.len()
            && let Some(hint) = self.hints.pop_front()
        {
            let Some(slot) = self.table.current(hint) else { continue };
            let (wanted, sure) = (slot.wanted, slot.sure);
            (slot.pending, slot.drained, slot.sure) = (false, false, false);
            if wanted.is_none() {
                continue;
            }
            let fd = descriptor(hint);
            let mask = if sure { Mask::from_poll(slot.told) & wanted } else { Mask::NONE };
            if mask.is_none() {
                self.checks.push(Entry::new(fd, wanted.to_poll()));
            }
            out[at] = Event { fd, mask, ended: sure && ended(slot.told), generation: slot.generation };
            at += 1;
        }
        if self.checks.is_empty() { Ok(at) } else { self.look_again(out, at) }
    }

    /// Checks the state of descriptors whose events are uncertain. Removes the kinds that are no longer true from each
    /// event, and removes events without any remaining kind.
    fn look_again(&mut self, out: &mut [Event], taken: usize) -> sys::Result<usize> {
        poll::poll(&mut self.checks, Some(0))?;
        let (mut at, mut next) = (0, 0);
        for from in 0..taken {
            let mut event = out[from];
            if event.mask.is_none() {
                let entry = self.checks[next];
                next += 1;
                let slot = self.table.open(entry.fd());
                if entry.found() & poll::NVAL != 0 {
                    // The descriptor was closed without a call of `forget`. The descriptor's poll keeps the file open
                    // in the kernel. The next submission removes the closed descriptor's poll.
                    let old = token(entry.fd(), slot.generation);
                    (slot.armed, slot.wanted) = (Mask::NONE, Mask::NONE);
                    slot.generation = slot.generation.wrapping_add(1);
                    self.ring.disarm(old)?;
                    continue;
                }
                let state = if slot.failed { Mask::ALL } else { Mask::from_poll(entry.found()) };
                (event.mask, event.ended) = (state & slot.wanted, ended(entry.found()));
            }
            if !event.mask.is_none() {
                out[at] = event;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Delivers each hint as an event with all declared kinds, without a check.
    fn deliver_unchecked(&mut self, out: &mut [Event]) -> usize {
        let mut at = 0;
        while at < out.len()
            && let Some(hint) = self.hints.pop_front()
        {
            let Some(slot) = self.table.current(hint) else { continue };
            slot.pending = false;
            if !slot.wanted.is_none() {
                out[at] = Event { fd: descriptor(hint), mask: slot.wanted, ended: false, generation: slot.generation };
                at += 1;
            }
        }
        at
    }
}

/// Kinds of events that may be outdated although a completion reported them. Since the completion, a write may have
/// filled the send buffer. The kernel's wake-up for arrived data also reports an exceptional condition, even if there
/// is none.
const UNCERTAIN: i16 = poll::OUT | poll::PRI;

/// Stores the poll bits of a completion. The poll bits are marked as certain if nothing can make them wrong before
/// delivery.
#[inline]
fn remember(slot: &mut Slot, found: i16) {
    let may = (slot.drained || slot.sure) && found & UNCERTAIN == 0;
    slot.told = if slot.sure { slot.told | found } else { found };
    (slot.drained, slot.sure) = (false, may);
}

#[inline]
fn note(completion: Completion, table: &mut Table, hints: &mut VecDeque<u64>, ended: &mut Vec<RawFd>) {
    let fd = descriptor(completion.token);
    let Some(slot) = table.current(completion.token) else { return };
    match completion.outcome {
        Err(Errno::CANCELED) => return,
        Err(_) => (slot.failed, slot.armed, slot.drained, slot.sure) = (true, Mask::NONE, false, false),
        Ok(_) if !completion.more => {
            (slot.armed, slot.drained, slot.sure) = (Mask::NONE, false, false);
            ended.push(fd);
        }
        Ok(found) => remember(slot, found as i16),
    }
    if !slot.pending && !slot.wanted.is_none() {
        slot.pending = true;
        hints.push_back(completion.token);
    }
}
