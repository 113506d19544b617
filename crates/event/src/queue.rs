//! The event queue, which is the interface for applications.

use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::time::Duration;

use crate::backends::Mechanism;
use crate::group::Membership;
use crate::state::state;
use crate::{Backend, Event, EventError, Group, Mask, Options, Result, State};

/// The event queue of one thread. A thread declares interest in descriptors and takes their events from its queue.
///
/// Descriptors are plain numbers ([`RawFd`]), as in the paper by Banga, Mogul and Druschel (see the crate's
/// documentation). Descriptors should be non-blocking, because an event is only a hint: it may be repeated or outdated,
/// but is never lost. A queue must stay in the thread that created it.
#[derive(Debug)]
pub struct EventQueue {
    mechanism: Mechanism,
    membership: Option<Membership>,
    options: Options,
    not_send: PhantomData<*const ()>,
}

impl EventQueue {
    /// Creates a queue on a backend, with default options.
    pub fn new(backend: Backend) -> Result<Self> {
        Self::with(Options::new(backend))
    }

    /// Creates a queue with these options.
    pub fn with(options: Options) -> Result<Self> {
        let mechanism = Mechanism::new(&options)
            .map_err(|e| EventError::Create { backend: options.backend.spec().name, source: e.into() })?;
        Ok(Self { mechanism, membership: None, options, not_send: PhantomData })
    }

    /// Returns the queue's options.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Declares interest in the given kinds of events of `fd`. The new interest replaces the earlier one, and
    /// [`Mask::NONE`] revokes it.
    ///
    /// With `want_state`, the call returns the current state with all kinds of events, declared or not. The returned
    /// state is read after the declaration of interest. The state of a new connection may change after it is accepted
    /// and before interest in it is declared. A change between the accept and the declaration appears in the returned
    /// state, as an event, or in both ways. If the descriptor is ready and interest in it is declared again without
    /// `want_state`, an event is queued.
    ///
    /// If `fd` is not an open descriptor and `want_state` is true, the call fails. If `want_state` is false, declaring
    /// interest in a number that is not open fails with epoll, except for a lazy revocation. Backends other than epoll
    /// check a descriptor number only if their table has no entry for this number. With io_uring, if `fd` is not open
    /// and was not checked, an event reports the failure.
    #[inline]
    pub fn declare_interest(&mut self, fd: RawFd, interest: Mask, want_state: bool) -> Result<Option<State>> {
        if fd < 0 {
            return Err(EventError::declare(fd, sys::Errno::BADF));
        }
        self.mechanism.declare(fd, interest, want_state).map_err(|e| EventError::declare(fd, e))?;
        if want_state { state(fd).map(Some) } else { Ok(None) }
    }

    /// Takes up to `events.len()` events, and returns their number. If no event is queued, waits for an event for at
    /// most `timeout` (`None` for no limit). Returns 0 after the timeout, after a signal, or if `events` is empty.
    /// Events are in the order of arrival, except with poll and select.
    ///
    /// In rare cases, all events that arrive during the wait are outdated or no longer wanted. If only outdated or
    /// unwanted events arrive, the wait is repeated, and the call may last up to twice the timeout.
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

    /// Ends the interest in `fd`. Call this function before closing `fd`. After the call, the queue delivers no event
    /// of `fd`, not even if a new descriptor gets the same number. Without a call of `forget`, poll and select may
    /// report events of a new descriptor with the same number. With io_uring, the kernel would keep the file open.
    #[inline]
    pub fn forget(&mut self, fd: RawFd) {
        self.mechanism.forget(fd);
    }

    /// Reports that the last read of `fd` would have blocked or was short, and that `fd` will not be read again before
    /// its next event. Calling this function is optional. With io_uring, the call saves a check at the next delivery.
    /// Backends other than io_uring ignore this call. If the application nevertheless reads `fd` before its next event,
    /// an outdated event may follow.
    #[inline]
    pub fn drained(&mut self, fd: RawFd) {
        self.mechanism.drained(fd);
    }

    /// Returns true if the event belongs to the current registration of its descriptor number, and not to an earlier
    /// registration. The current registration may belong to the queue, or be the wake-one registration of the queue's
    /// group.
    #[must_use]
    #[inline]
    pub fn is_current(&self, event: &Event) -> bool {
        self.mechanism.generation(event.fd) == event.generation
            || self.membership.as_ref().is_some_and(|membership| membership.is_current(event))
    }

    /// Sends collected declarations to the kernel immediately. Without a call of `flush`, the next
    /// [`EventQueue::get_next_event`] sends collected declarations. Only io_uring collects declarations.
    pub fn flush(&mut self) -> Result<()> {
        self.mechanism.flush().map_err(EventError::wait)
    }

    /// Makes the queue a member of a group. The queue first leaves its present group, if it has one. After the call,
    /// every present and future interest of the group also applies to the queue.
    pub fn join(&mut self, group: &Group) -> Result<()> {
        self.leave();
        let membership = Membership::new(group, &mut self.mechanism)
            .map_err(|e| EventError::Create { backend: self.options.backend.spec().name, source: e.into() })?;
        self.membership = Some(membership);
        Ok(())
    }

    /// Leaves the group that the queue has joined.
    pub fn leave(&mut self) {
        if let Some(membership) = self.membership.take() {
            membership.leave(&mut self.mechanism);
        }
    }
}
