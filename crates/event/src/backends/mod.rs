//! The mechanisms of the kernel that a queue can stand on: one file a mechanism, one row in [`BACKENDS`].
//! Which one a queue uses is an enum, so a call costs one well-predicted branch more than the mechanism itself.

mod epoll;
mod poll;
mod select;
mod uring;

use std::os::fd::RawFd;

use sys::{Errno, poll as bits};

use crate::queue::Options;
use crate::{Event, EventError, Mask, Result};

/// A mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// epoll, edge-triggered: the reference.
    Epoll,
    /// io_uring multishot polls with the hint queue in user space.
    Uring,
    /// poll(2) over all descriptors in every call.
    Poll,
    /// select(2) over all descriptors in every call, without the limit of 1024.
    Select,
}

/// A row of the table of back ends.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BackendSpec {
    /// The name used in options.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    /// Which it is.
    pub backend: Backend,
    /// Events come in the order of their arrival; otherwise in the order of the descriptors, taken in turn.
    pub fifo: bool,
    /// A descriptor that stays ready is reported again in every call; otherwise only when something new arrives.
    pub level: bool,
}

/// Every back end.
pub const BACKENDS: &[BackendSpec] = &[
    BackendSpec {
        name: "epoll",
        help: "edge-triggered epoll, the reference: a wait costs what it delivers",
        backend: Backend::Epoll,
        fifo: true,
        level: false,
    },
    BackendSpec {
        name: "uring",
        help: "io_uring multishot polls, hints queued in user space, declarations in batches",
        backend: Backend::Uring,
        fifo: true,
        level: false,
    },
    BackendSpec {
        name: "poll",
        help: "baseline: poll(2) over all descriptors, a wait costs what is declared",
        backend: Backend::Poll,
        fifo: false,
        level: true,
    },
    BackendSpec {
        name: "select",
        help: "baseline: select(2) with bitmaps of any width, a wait costs the highest descriptor",
        backend: Backend::Select,
        fifo: false,
        level: true,
    },
];

impl Backend {
    /// The row of this back end.
    #[must_use]
    pub fn spec(self) -> &'static BackendSpec {
        BACKENDS.iter().find(|row| row.backend == self).unwrap_or(&BACKENDS[0])
    }

    /// The back end of this name.
    pub fn named(name: &str) -> Result<Self> {
        BACKENDS.iter().find(|row| row.name == name).map(|row| row.backend).ok_or_else(|| EventError::UnknownBackend {
            name: name.into(),
            known: BACKENDS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
        })
    }
}

/// The back end of one queue.
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

    /// Declares, changes or (with no kinds) revokes. `told` says that the caller looks at the state itself, so a
    /// descriptor that is ready already needs no event.
    #[inline]
    pub(crate) fn declare(&mut self, fd: RawFd, mask: Mask, told: bool) -> sys::Result<()> {
        each!(self, queue => queue.declare(fd, mask, told))
    }

    /// Forgets a descriptor that is about to be closed.
    #[inline]
    pub(crate) fn forget(&mut self, fd: RawFd) {
        each!(self, queue => queue.forget(fd));
    }

    /// Waits and delivers; 0 when the time is over or a signal came.
    #[inline]
    pub(crate) fn next(&mut self, out: &mut [Event], timeout_ns: Option<u64>) -> sys::Result<usize> {
        each!(self, queue => queue.next(out, timeout_ns))
    }

    /// Nothing is left to read of a descriptor.
    #[inline]
    pub(crate) fn drained(&mut self, fd: RawFd) {
        // The others look at every event again, or report nothing but what holds.
        if let Self::Uring(queue) = self {
            queue.drained(fd);
        }
    }

    /// Tells the kernel what was declared and is still kept back.
    pub(crate) fn flush(&mut self) -> sys::Result<()> {
        match self {
            Self::Uring(queue) => queue.flush(),
            _ => Ok(()),
        }
    }

    /// The current generation of a descriptor.
    pub(crate) fn generation(&self, fd: RawFd) -> u32 {
        each!(self, queue => queue.table.copy(fd).generation)
    }
}

/// EBADF unless the number is an open descriptor. For back ends that the kernel does not check for at once.
fn check_open(fd: RawFd) -> sys::Result<()> {
    if fd < 0 || bits::now(fd, 0)? & bits::NVAL != 0 { Err(Errno::BADF) } else { Ok(()) }
}

/// The time that is left of a wait that may have to be repeated. The clock is read only when it is, so a repeated
/// wait may last up to twice as long as asked for; the usual one costs no clock.
struct Remaining {
    timeout_ns: Option<u64>,
    until_ns: Option<u64>,
}

impl Remaining {
    fn new(timeout_ns: Option<u64>) -> Self {
        Self { timeout_ns, until_ns: None }
    }

    /// The time to wait now; `None` in the first place when the time is over.
    fn again(&mut self) -> Option<Option<u64>> {
        let Some(ns) = self.timeout_ns else { return Some(None) };
        if ns == 0 {
            return None;
        }
        let now = sys::clock::monotonic_ns();
        let until = *self.until_ns.get_or_insert(now.saturating_add(ns));
        (until > now).then(|| Some(until - now))
    }
}

/// Whether these poll bits say that the peer has ended its side.
#[inline]
const fn ended(found: i16) -> bool {
    found & (bits::RDHUP | bits::HUP | bits::ERR) != 0
}
