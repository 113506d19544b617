//! Event queue of a proxy thread, whose calls an experiment can measure (see `timing`).

use std::os::fd::RawFd;
use std::time::Duration;

use event::{Event, EventQueue, Mask};

use super::counting::CountingClock;
use super::end::End;
use super::timing::Stopwatch;

/// An event queue, and a clock if the calls of the queue are measured.
pub(super) struct Queue {
    events: EventQueue,
    clock: Option<Box<Stopwatch>>,
    counting: Option<Box<CountingClock>>,
}

impl Queue {
    pub(super) fn new(events: EventQueue, clock: Option<Box<Stopwatch>>, counting: Option<Box<CountingClock>>) -> Self {
        Self { events, clock, counting }
    }

    /// Returns the maximum number of events to take per call, which is at most `most`.
    #[inline]
    pub(super) fn room(&mut self, most: usize) -> usize {
        self.clock.as_mut().map_or(most, |clock| clock.room(most))
    }

    /// Waits for events with `get_next_event`.
    #[inline]
    pub(super) fn next(&mut self, out: &mut [Event], timeout: Option<Duration>) -> event::Result<usize> {
        match (&mut self.clock, &mut self.counting) {
            (None, None) => self.events.get_next_event(out, timeout),
            (Some(clock), _) => clock.next(&mut self.events, out, timeout),
            (None, Some(clock)) => clock.next(&mut self.events, out, timeout),
        }
    }

    /// Calls `declare_interest` for a socket if the interest in this socket changes.
    #[inline]
    pub(super) fn declare(&mut self, end: &mut End, mask: Mask) -> event::Result<()> {
        if end.declared == mask {
            return Ok(());
        }
        end.declared = mask;
        self.declare_fd(end.fd(), mask)
    }

    /// Calls `declare_interest` for a descriptor.
    pub(super) fn declare_fd(&mut self, fd: RawFd, mask: Mask) -> event::Result<()> {
        match &mut self.clock {
            None => self.events.declare_interest(fd, mask, false).map(drop),
            Some(clock) => clock.declare(&mut self.events, fd, mask),
        }
    }

    /// Removes a descriptor from the queue before it is closed.
    #[inline]
    pub(super) fn forget(&mut self, fd: RawFd) {
        match &mut self.clock {
            None => self.events.forget(fd),
            Some(clock) => clock.forget(&mut self.events, fd),
        }
    }

    /// Tells the queue that the application has read everything from a descriptor.
    #[inline]
    pub(super) fn drained(&mut self, fd: RawFd) {
        self.events.drained(fd);
    }

    #[inline]
    pub(super) fn is_current(&self, event: &Event) -> bool {
        self.events.is_current(event)
    }
}
