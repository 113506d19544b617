//! eventfds that operations signal when they complete, for overlapped I/O with events.

use std::os::fd::AsRawFd;

use sys::poll::{self, Entry};
use sys::uring::Cqe;
use sys::wake::Waker;

use crate::ServeError;

/// Maximum number of outstanding operations of one thread. In addition to [`OPERATIONS`] operations, the thread waits
/// for its control event.
pub(crate) const OPERATIONS: u32 = 62;

/// eventfds of a thread: one per connection, because each connection has at most one posted operation.
pub(super) struct Events {
    pub(super) wakers: Vec<Waker>,
    pub(super) list: Vec<Entry>,
    /// Completions that were already taken from the ring, but whose eventfds have not been reported yet.
    pub(super) held: Vec<Cqe>,
}

impl Events {
    pub(super) fn new() -> Result<Self, ServeError> {
        let wakers: sys::Result<Vec<Waker>> = (0..OPERATIONS).map(|_| Waker::new()).collect();
        let wakers = wakers.map_err(|e| ServeError::os("make an eventfd for each operation", e))?;
        let control = Entry::new(-1, poll::IN);
        let list = std::iter::once(control).chain(wakers.iter().map(|w| Entry::new(w.as_raw_fd(), poll::IN))).collect();
        Ok(Self { wakers, list, held: Vec::with_capacity(256) })
    }
}
