//! Where the calls of the event API are made, so that an experiment can stand beside them with a clock. The proxy
//! itself uses [`Plain`], which is nothing but the calls.

use std::time::Duration;

use event::{Event, EventQueue, Mask};

use super::end::End;

/// Makes the calls of one thread.
pub(super) trait Watch: Send + 'static {
    /// How many events to take, of at most `most`.
    fn room(&self, most: usize) -> usize;

    /// `get_next_event`.
    fn next(&mut self, queue: &mut EventQueue, out: &mut [Event], timeout: Option<Duration>) -> event::Result<usize>;

    /// `declare_interest`, if it changes anything.
    fn declare(&mut self, queue: &mut EventQueue, end: &mut End, mask: Mask) -> event::Result<()>;
}

/// Just the calls.
pub(super) struct Plain;

impl Watch for Plain {
    #[inline]
    fn room(&self, most: usize) -> usize {
        most
    }

    #[inline]
    fn next(&mut self, queue: &mut EventQueue, out: &mut [Event], timeout: Option<Duration>) -> event::Result<usize> {
        queue.get_next_event(out, timeout)
    }

    #[inline]
    fn declare(&mut self, queue: &mut EventQueue, end: &mut End, mask: Mask) -> event::Result<()> {
        if end.declared == mask {
            return Ok(());
        }
        end.declared = mask;
        queue.declare_interest(end.fd(), mask, false).map(drop)
    }
}
