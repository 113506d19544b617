//! The two event interfaces that are compared: the event library, and the plain epoll system call. The library and the
//! system call watch the same connections.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use ::event::{Event, EventQueue, Mask, Options};
use sys::epoll::{Epoll, Interest};
use sys::epoll_raw::{self, Slots};

use super::hot::Hot;
use lab::LabError;

/// An interface that returns events, such as the event library. The benchmark times the calls of the interface.
pub(super) trait Caller {
    /// Makes one call that returns at most `most` events, and returns the number of events. The benchmark times this
    /// function.
    fn call(&mut self, most: usize) -> usize;
    /// Returns the descriptor of event number `at` of the last call.
    fn fd(&self, at: usize) -> RawFd;
    /// Tells the interface that all data of a descriptor has been read.
    fn served(&mut self, _fd: RawFd) {}
}

/// One of the two compared interfaces: the event library.
pub(super) struct Library {
    queue: EventQueue,
    events: Vec<Event>,
    /// True if the library is told when all data of a descriptor has been read.
    tells: bool,
}

impl Library {
    /// Creates a queue, and declares interest in all hot and cold connections. `room` is the maximum number of events
    /// per call.
    pub(super) fn new(options: Options, hot: &mut Hot, cold: &[OwnedFd], room: usize) -> Result<Self, LabError> {
        let failed = |e: event::EventError| LabError::set_up("making an event queue", std::io::Error::other(e));
        hot.quiet();
        let mut queue = EventQueue::with(options).map_err(failed)?;
        for fd in cold.iter().map(AsRawFd::as_raw_fd).chain(hot.fds()) {
            queue.declare_interest(fd, Mask::READ, false).map_err(failed)?;
        }
        queue.flush().map_err(failed)?;
        Ok(Self { queue, events: vec![Event::default(); room], tells: true })
    }

    /// Returns a variant of the interface that does not tell the library when all data of a descriptor was read. The
    /// interface of Banga, Mogul and Druschel does not tell the library this, either.
    pub(super) fn untold(self) -> Self {
        Self { tells: false, ..self }
    }

    /// Declares interest in a descriptor. An empty `mask` revokes the interest.
    #[inline]
    pub(super) fn declare(&mut self, fd: RawFd, mask: Mask, want_state: bool) {
        let _ = self.queue.declare_interest(fd, mask, want_state);
    }

    /// Submits the changes of interest that the library has collected.
    pub(super) fn flush(&mut self) {
        let _ = self.queue.flush();
    }
}

impl Caller for Library {
    #[inline]
    fn call(&mut self, most: usize) -> usize {
        let most = most.min(self.events.len());
        self.queue.get_next_event(&mut self.events[..most], Some(Duration::ZERO)).unwrap_or(0)
    }

    fn fd(&self, at: usize) -> RawFd {
        self.events[at].fd
    }

    #[inline]
    fn served(&mut self, fd: RawFd) {
        if self.tells {
            self.queue.drained(fd);
        }
    }
}

/// One of the two compared interfaces: the plain epoll system call. The epoll instance watches the same connections as
/// the event library in [`Library`].
pub(super) struct Bare {
    epoll: Epoll,
    slots: Slots,
}

impl Bare {
    pub(super) fn new(hot: &mut Hot, cold: &[OwnedFd]) -> Result<Self, LabError> {
        let failed = |e: sys::Errno| LabError::set_up("making an epoll instance", std::io::Error::from(e));
        hot.quiet();
        let epoll = Epoll::new().map_err(failed)?;
        for fd in cold.iter().map(AsRawFd::as_raw_fd).chain(hot.fds()) {
            let interest = Interest::IN | Interest::RDHUP | Interest::ET;
            epoll_raw::add(&epoll, fd, fd as u64, interest).map_err(failed)?;
        }
        Ok(Self { epoll, slots: Slots::default() })
    }
}

impl Caller for Bare {
    #[inline]
    fn call(&mut self, most: usize) -> usize {
        epoll_raw::wait(&self.epoll, &mut self.slots, most, Some(0)).unwrap_or(0)
    }

    fn fd(&self, at: usize) -> RawFd {
        self.slots.iter().nth(at).map_or(-1, |e| e.token as RawFd)
    }
}
