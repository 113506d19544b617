//! Overlapped I/O with events, as in Windows. Every operation signals its own event when it completes: the operation is
//! linked to a write to an eventfd.
//!
//! The thread waits for up to 62 events, and for a control event with index 0. If several events are signalled, a wait
//! reports only the event with the lowest index. After each wait, the thread handles the operation that signalled the
//! reported event. The ring runs the operations, but its completion queue is read only after an event was signalled.

use std::os::fd::AsRawFd;

use sys::poll::{self, Entry};
use sys::uring::{Cqe, File, OpFlags};
use sys::wake::Waker;

use super::{Operation, Worker, user_data};

impl Worker {
    /// Returns the flags with which operations are posted. If the worker waits for eventfds, each operation is linked
    /// to the operation after it, which signals the eventfd.
    pub(super) fn link_flags(&self) -> OpFlags {
        if self.events.is_some() { OpFlags::IO_HARDLINK } else { OpFlags::empty() }
    }

    /// Posts a write to an eventfd, which runs when the operation posted just before has ended.
    pub(super) fn signal_end(&mut self, index: u32) -> sys::Result<()> {
        let Some(waker) = self.events.as_ref().and_then(|e| e.wakers.get(index as usize)) else { return Ok(()) };
        let event = File::Fd(waker.as_raw_fd());
        self.ring.signal(event, OpFlags::SKIP_SUCCESS, user_data(Operation::Ignore, 0, 0))
    }

    /// Waits for events, and takes the completions of the signalled event with the lowest index.
    pub(super) fn wait_events(
        &mut self,
        timeout_ns: Option<u64>,
        control: &Waker,
        done: &mut Vec<Cqe>,
    ) -> sys::Result<()> {
        self.ring.submit()?;
        let Some(events) = &mut self.events else { return Ok(()) };
        events.list[0] = Entry::new(control.as_raw_fd(), poll::IN);
        poll::poll(&mut events.list, timeout_ns)?;
        let Some(slot) = events.list.iter().position(|e| e.found() != 0) else { return Ok(()) };
        self.ring.reap(&mut events.held);
        if slot == 0 {
            return self.take_inbox();
        }
        let index = slot as u32 - 1;
        events.wakers[index as usize].clear();
        let sends = &self.sends;
        let belongs = |cqe: &Cqe| match cqe.user >> 56 {
            k if k == Operation::Recv as u64 => cqe.user as u32 == index,
            k if k == Operation::Send as u64 => {
                sends.get(cqe.user as u32 as usize).and_then(Option::as_ref).is_none_or(|s| s.index == index)
            }
            _ => true,
        };
        done.extend(events.held.extract_if(.., |cqe| belongs(cqe)));
        Ok(())
    }
}
