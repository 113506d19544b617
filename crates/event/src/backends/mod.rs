//! Kernel mechanisms of event queues, one file each. A queue calls its mechanism through an enum, so each call needs
//! only one well-predicted branch to find the mechanism.

mod epoll;
mod poll;
mod select;
mod uring;
mod wait;

use std::os::fd::RawFd;

use crate::{Backend, Event, Mask, Options};

/// Kernel mechanism of one queue, and the state of this mechanism.
#[derive(Debug)]
pub(crate) enum Mechanism {
    Epoll(epoll::EpollQueue),
    Uring(Box<uring::UringQueue>),
    Poll(poll::PollQueue),
    Select(select::SelectQueue),
}

macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Mechanism::Epoll($queue) => $call,
            Mechanism::Uring($queue) => $call,
            Mechanism::Poll($queue) => $call,
            Mechanism::Select($queue) => $call,
        }
    };
}

impl Mechanism {
    pub(crate) fn new(options: &Options) -> sys::Result<Self> {
        Ok(match options.backend {
            Backend::Epoll => Self::Epoll(epoll::EpollQueue::new(options)?),
            Backend::Uring => Self::Uring(Box::new(uring::UringQueue::new(options)?)),
            Backend::Poll => Self::Poll(poll::PollQueue::default()),
            Backend::Select => Self::Select(select::SelectQueue::default()),
        })
    }

    /// Declares or changes an interest. An empty mask revokes the interest. If `told` is true, the caller reads the
    /// current state itself, so the queue needs no event for a descriptor that is already ready.
    #[inline]
    pub(crate) fn declare(&mut self, fd: RawFd, mask: Mask, told: bool) -> sys::Result<()> {
        each!(self, queue => queue.declare(fd, mask, told))
    }

    /// Forgets a descriptor that is about to be closed.
    #[inline]
    pub(crate) fn forget(&mut self, fd: RawFd) {
        each!(self, queue => queue.forget(fd));
    }

    /// Waits for events, writes them to `out`, and returns their number. Returns 0 after the timeout or a signal.
    #[inline]
    pub(crate) fn next(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        each!(self, queue => queue.next(out, timeout_ns))
    }

    /// Records that the application has read everything from a descriptor.
    #[inline]
    pub(crate) fn drained(&mut self, fd: RawFd) {
        // Only the mechanism io_uring uses the report that everything was read. Mechanisms other than io_uring check
        // every event again, or report only the current state.
        if let Self::Uring(queue) = self {
            queue.drained(fd);
        }
    }

    /// Sends collected declarations of interest to the kernel.
    pub(crate) fn flush(&mut self) -> sys::Result<()> {
        match self {
            Self::Uring(queue) => queue.flush(),
            _ => Ok(()),
        }
    }

    /// Returns the current generation of a descriptor.
    pub(crate) fn generation(&self, fd: RawFd) -> u32 {
        each!(self, queue => queue.table.copy(fd).generation)
    }
}
