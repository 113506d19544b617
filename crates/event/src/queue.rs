//! The queue: what an application sees.

use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::time::Duration;

use crate::backends::Mechanism;
use crate::group::Membership;
use crate::state::state;
use crate::{Backend, Event, EventError, Group, Mask, Options, Result, State};

/// The events of one thread: it says in which descriptors it is interested, and takes what happened to them.
///
/// Descriptors are plain numbers, as in the interface of the source. They should be non-blocking: an event is a hint,
/// it can come twice and be out of date, but it is never lost. A queue stays on the thread that made it.
#[derive(Debug)]
pub struct EventQueue {
    mechanism: Mechanism,
    membership: Option<Membership>,
    options: Options,
    not_send: PhantomData<*const ()>,
}

impl EventQueue {
    /// A queue on this mechanism.
    pub fn new(backend: Backend) -> Result<Self> {
        Self::with(Options::new(backend))
    }

    /// A queue made to these options.
    pub fn with(options: Options) -> Result<Self> {
        let mechanism = Mechanism::new(&options)
            .map_err(|e| EventError::Create { backend: options.backend.spec().name, source: e.into() })?;
        Ok(Self { mechanism, membership: None, options, not_send: PhantomData })
    }

    /// The options it was made to.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Declares interest in these kinds of events of `fd`; it replaces what was declared before, and
    /// [`Mask::NONE`] revokes.
    ///
    /// With `want_state` the state at this moment is returned (all kinds, declared or not). It is from before any
    /// event is queued, so what arrives between accepting a connection and declaring it is in the state, or comes as
    /// an event, or both. Declaring again what is ready already queues an event.
    ///
    /// A number that is not open is an error, if the kernel is asked at once: always with epoll or `want_state`. The
    /// others look when the number is higher than any before; io_uring reports it as an event otherwise.
    #[inline]
    pub fn declare_interest(&mut self, fd: RawFd, interest: Mask, want_state: bool) -> Result<Option<State>> {
        if fd < 0 {
            return Err(EventError::declare(fd, sys::Errno::BADF));
        }
        self.mechanism.declare(fd, interest, want_state).map_err(|e| EventError::declare(fd, e))?;
        if want_state { state(fd).map(Some) } else { Ok(None) }
    }

    /// Takes at most `events.len()` events, oldest first, and returns how many. Returns at once when there is one;
    /// otherwise waits for one, at most `timeout` (`None`: without end). 0 says that the time is over, that a signal
    /// came, or that `events` is empty.
    ///
    /// In the rare case that everything that arrived was revoked meanwhile, the wait starts again once, so it may
    /// last up to twice the timeout.
    #[inline]
    pub fn get_next_event(&mut self, events: &mut [Event], timeout: Option<Duration>) -> Result<usize> {
        if events.is_empty() {
            return Ok(0);
        }
        let timeout_ns = timeout.map(|t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX));
        match &mut self.membership {
            None => self.mechanism.next(events, timeout_ns).map_err(EventError::wait),
            Some(membership) => membership.next(&mut self.mechanism, events, timeout_ns).map_err(EventError::wait),
        }
    }

    /// To be called before `fd` is closed: its interest ends and no event of it is delivered any more, also not to
    /// the next descriptor that gets its number. epoll alone notices a close without it; with io_uring the file would
    /// stay open in the kernel.
    #[inline]
    pub fn forget(&mut self, fd: RawFd) {
        self.mechanism.forget(fd);
    }

    /// Says that `fd` has been read until it would block, or until a read came back short, and that nobody reads it again
    /// before its next event. Nobody has to say so: where it was said, io_uring need not look at the state again when it
    /// delivers what came afterwards; the other back ends do nothing. Who says so and then reads all the same may get an
    /// event that is out of date.
    #[inline]
    pub fn drained(&mut self, fd: RawFd) {
        self.mechanism.drained(fd);
    }

    /// Whether the event is of the current registration of its descriptor number.
    #[must_use]
    pub fn is_current(&self, event: &Event) -> bool {
        self.mechanism.generation(event.fd) == event.generation
    }

    /// Gives the kernel at once what the next [`EventQueue::get_next_event`] would give it: with io_uring,
    /// declarations are collected.
    pub fn flush(&mut self) -> Result<()> {
        self.mechanism.flush().map_err(EventError::wait)
    }

    /// Joins a group: process-wide interest that was or will be declared there holds for this queue too.
    pub fn join(&mut self, group: &Group) -> Result<()> {
        self.leave();
        let membership = Membership::new(group, &mut self.mechanism)
            .map_err(|e| EventError::Create { backend: self.options.backend.spec().name, source: e.into() })?;
        self.membership = Some(membership);
        Ok(())
    }

    /// Leaves its group.
    pub fn leave(&mut self) {
        if let Some(membership) = self.membership.take() {
            membership.leave(&mut self.mechanism);
        }
    }
}
