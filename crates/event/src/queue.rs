//! The event queue: the interface for applications.

use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::time::Duration;

use crate::backends::Mechanism;
use crate::group::Membership;
use crate::state::state;
use crate::{Backend, Event, EventError, Group, Mask, Options, Result, State};

/// The events of one thread: it declares interest in descriptors and takes their events.
///
/// Descriptors are plain numbers, as in the interface of the source. They should be non-blocking: an event is a hint
/// that may come twice or be out of date, but is never lost. A queue stays on the thread that created it.
#[derive(Debug)]
pub struct EventQueue {
    mechanism: Mechanism,
    membership: Option<Membership>,
    options: Options,
    not_send: PhantomData<*const ()>,
}

impl EventQueue {
    /// Creates a queue on this mechanism.
    pub fn new(backend: Backend) -> Result<Self> {
        Self::with(Options::new(backend))
    }

    /// Creates a queue with these options.
    pub fn with(options: Options) -> Result<Self> {
        let mechanism = Mechanism::new(&options)
            .map_err(|e| EventError::Create { backend: options.backend.spec().name, source: e.into() })?;
        Ok(Self { mechanism, membership: None, options, not_send: PhantomData })
    }

    /// Returns its options.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Declares interest in these kinds of events of `fd`. It replaces the earlier declaration, and [`Mask::NONE`]
    /// revokes.
    ///
    /// With `want_state` the call returns the state at this moment (all kinds, declared or not). The state is from
    /// before any event is queued. So arrivals between accepting a connection and declaring it are in the state, or
    /// come as an event, or both. Declaring a ready descriptor again queues an event.
    ///
    /// A number that is not open is an error, if the kernel is called at once: always with epoll or `want_state`. The
    /// other backends check when the number is higher than any before; otherwise io_uring reports it as an event.
    #[inline]
    pub fn declare_interest(&mut self, fd: RawFd, interest: Mask, want_state: bool) -> Result<Option<State>> {
        if fd < 0 {
            return Err(EventError::declare(fd, sys::Errno::BADF));
        }
        self.mechanism.declare(fd, interest, want_state).map_err(|e| EventError::declare(fd, e))?;
        if want_state { state(fd).map(Some) } else { Ok(None) }
    }

    /// Takes up to `events.len()` events, oldest first, and returns their number. Returns at once if there is one;
    /// otherwise waits for one, at most `timeout` (`None`: no limit). 0 means that the time is over, that a signal
    /// came, or that `events` is empty.
    ///
    /// In the rare case that everything that arrived was revoked meanwhile, the wait starts again once. It may then
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

    /// Ends the interest in `fd`; call it before closing. No event of `fd` is delivered any more, not even to the next
    /// descriptor with its number. Only epoll notices a close without this call. With io_uring the file would stay open
    /// in the kernel.
    #[inline]
    pub fn forget(&mut self, fd: RawFd) {
        self.mechanism.forget(fd);
    }

    /// Reports that `fd` has been read until it would block or until a short read, and is not read again before its
    /// next event. The call is optional. It saves io_uring the check at the next delivery; the other backends ignore
    /// it. Reading `fd` nevertheless may lead to an outdated event.
    #[inline]
    pub fn drained(&mut self, fd: RawFd) {
        self.mechanism.drained(fd);
    }

    /// Returns true if the event belongs to the current registration of its descriptor number.
    #[must_use]
    pub fn is_current(&self, event: &Event) -> bool {
        self.mechanism.generation(event.fd) == event.generation
    }

    /// Sends collected declarations to the kernel at once instead of at the next [`EventQueue::get_next_event`]; only
    /// io_uring collects them.
    pub fn flush(&mut self) -> Result<()> {
        self.mechanism.flush().map_err(EventError::wait)
    }

    /// Joins a group: its present and future process-wide interest applies to this queue too.
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
