//! poll(2) with nanosecond timeouts (ppoll) over an array that the caller keeps. Descriptors are plain numbers here. A
//! number that is not open is reported as [`NVAL`] in its entry; nothing is read, written or closed.

use std::os::fd::RawFd;

use crate::{Errno, Result};

/// Data or an end of file to read.
pub const IN: i16 = libc::POLLIN;
/// Room to write.
pub const OUT: i16 = libc::POLLOUT;
/// Exceptional condition, such as urgent data.
pub const PRI: i16 = libc::POLLPRI;
/// The peer has closed its sending side.
pub const RDHUP: i16 = libc::POLLRDHUP;
/// Pending error; always reported.
pub const ERR: i16 = libc::POLLERR;
/// Both sides are closed; always reported.
pub const HUP: i16 = libc::POLLHUP;
/// The number is not an open descriptor; always reported.
pub const NVAL: i16 = libc::POLLNVAL;

/// A descriptor with requested and found events (`POLL…` bits).
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Entry(libc::pollfd);

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fd {} requested {:#x} found {:#x}", self.0.fd, self.0.events, self.0.revents)
    }
}

impl Entry {
    /// Requests `events` of `fd`.
    #[inline]
    pub const fn new(fd: RawFd, events: i16) -> Self {
        Self(libc::pollfd { fd, events, revents: 0 })
    }

    /// Returns the descriptor.
    #[inline]
    pub const fn fd(&self) -> RawFd {
        self.0.fd
    }

    /// Returns the requested events.
    #[inline]
    pub const fn requested(&self) -> i16 {
        self.0.events
    }

    /// Changes the requested events.
    #[inline]
    pub const fn ask(&mut self, events: i16) {
        self.0.events = events;
    }

    /// Returns the events found by the last [`poll`].
    #[inline]
    pub const fn found(&self) -> i16 {
        self.0.revents
    }
}

/// Waits until an entry has an event, for at most `timeout_ns` nanoseconds (`None`: no limit), and returns the number
/// of such entries. A signal ends the wait with 0 and no events in any entry.
#[inline]
pub fn poll(entries: &mut [Entry], timeout_ns: Option<u64>) -> Result<usize> {
    let timeout = timeout_ns.map(crate::timespec);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `Entry` is a transparent `pollfd`, the slice is valid for its length and exclusively borrowed; the
    // timeout is null or points to a timespec that lives until the end of this function; no signal mask is given.
    let n =
        unsafe { libc::ppoll(entries.as_mut_ptr().cast(), entries.len() as libc::nfds_t, timeout, std::ptr::null()) };
    match usize::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) => match crate::last_errno() {
            Errno::INTR => {
                entries.iter_mut().for_each(|e| e.0.revents = 0);
                Ok(0)
            }
            e => Err(e),
        },
    }
}

/// Returns the current events of one descriptor, from `events` and the three always reported, without waiting.
#[inline]
pub fn now(fd: RawFd, events: i16) -> Result<i16> {
    let mut entry = [Entry::new(fd, events)];
    poll(&mut entry, Some(0))?;
    Ok(entry[0].found())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn tells_the_state_of_a_socket_and_of_a_number_that_is_not_open() {
        let (a, mut b) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(now(a.as_raw_fd(), IN | OUT), Ok(OUT));
        b.write_all(b"x").unwrap();
        assert_eq!(now(a.as_raw_fd(), IN | OUT), Ok(IN | OUT));
        drop(b);
        // The child of a concurrent test may hold a copy for a moment.
        testkit::eventually(|| (now(a.as_raw_fd(), IN).unwrap() & HUP == HUP).then_some(()));
        assert_eq!(now(1_000_000, IN), Ok(NVAL));
    }
}
