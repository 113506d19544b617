//! Lets one thread wake up another. One thread signals an eventfd, and another thread waits until the eventfd is
//! readable. Source: eventfd(2).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};

use crate::Result;

/// An eventfd with which one thread wakes another. [`Waker::wake`] makes the eventfd readable, and [`Waker::clear`]
/// resets it.
#[derive(Debug)]
pub struct Waker {
    fd: OwnedFd,
}

impl Waker {
    /// Creates an unsignalled eventfd, non-blocking and closed on exec.
    pub fn new() -> Result<Self> {
        Ok(Self { fd: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)? })
    }

    /// Signals the eventfd. If the eventfd is already signalled, the call has no effect.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
    }

    /// Resets the eventfd.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.fd, &mut [0_u8; 8]);
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll;

    #[test]
    fn is_readable_from_wake_to_clear() {
        let bell = Waker::new().unwrap();
        assert_eq!(poll::now(bell.as_raw_fd(), poll::IN), Ok(0));
        bell.wake();
        bell.wake();
        assert_eq!(poll::now(bell.as_raw_fd(), poll::IN), Ok(poll::IN));
        bell.clear();
        assert_eq!(poll::now(bell.as_raw_fd(), poll::IN), Ok(0));
    }
}
