//! poll(2) with nanosecond timeouts (ppoll) over an array that the caller keeps. Descriptors are given as numbers. If a
//! descriptor number is not open, its entry reports [`NVAL`]. No function here reads, writes or closes a descriptor.

use std::os::fd::RawFd;

use crate::{Errno, Result};

/// Bit: data or an end of file can be read.
pub const IN: i16 = libc::POLLIN;
/// Bit: the send buffer has room.
pub const OUT: i16 = libc::POLLOUT;
/// Bit: there is an exceptional condition, such as urgent data.
pub const PRI: i16 = libc::POLLPRI;
/// Bit: the peer has closed its sending side.
pub const RDHUP: i16 = libc::POLLRDHUP;
/// Bit: the descriptor has a pending error. The kernel reports the bit even if it is not requested.
pub const ERR: i16 = libc::POLLERR;
/// Bit: both sides are closed. The kernel reports the bit even if it is not requested.
pub const HUP: i16 = libc::POLLHUP;
/// Bit: the number is not an open descriptor. The kernel reports the bit even if it is not requested.
pub const NVAL: i16 = libc::POLLNVAL;

/// A descriptor with its requested and its reported events (`POLL…` bits).
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Entry(libc::pollfd);

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fd {} requested {:#x} found {:#x}", self.0.fd, self.0.events, self.0.revents)
    }
}

impl Entry {
    /// Creates an entry that requests `events` of `fd`.
    #[inline]
    pub const fn new(fd: RawFd, events: i16) -> Self {
        Self(libc::pollfd { fd, events, revents: 0 })
    }

    /// Returns the entry's descriptor.
    #[inline]
    pub const fn fd(&self) -> RawFd {
        self.0.fd
    }

    /// Returns the events that the entry requests.
    #[inline]
    pub const fn requested(&self) -> i16 {
        self.0.events
    }

    /// Changes the events that the entry requests.
    #[inline]
    pub const fn ask(&mut self, events: i16) {
        self.0.events = events;
    }

    /// Returns the events that the last [`poll`] reported.
    #[inline]
    pub const fn found(&self) -> i16 {
        self.0.revents
    }
}

/// Waits until an entry has an event, for at most `timeout_ns` nanoseconds (`None`: no limit). Returns the number of
/// entries with events. A signal ends the wait with the result 0, and no entry then has events.
#[inline]
pub fn poll(entries: &mut [Entry], timeout_ns: Option<u64>) -> Result<usize> {
    let timeout = timeout_ns.map(crate::timespec);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `Entry` is a transparent `pollfd`. The slice is valid for its length and exclusively borrowed. The
    // timeout is null or points to a timespec that lives until the end of this function. No signal mask is passed.
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

/// Returns the current events of one descriptor without waiting. The result contains only bits of `events`, [`ERR`],
/// [`HUP`] and [`NVAL`].
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
    fn reports_the_events_of_a_socket_and_a_number_that_is_not_open() {
        let (a, mut b) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(now(a.as_raw_fd(), IN | OUT), Ok(OUT));
        b.write_all(b"x").unwrap();
        assert_eq!(now(a.as_raw_fd(), IN | OUT), Ok(IN | OUT));
        drop(b);
        // A child process forked by a test that runs at the same time may hold a copy of the descriptor for a moment.
        testkit::eventually(|| (now(a.as_raw_fd(), IN).unwrap() & HUP == HUP).then_some(()));
        assert_eq!(now(1_000_000, IN), Ok(NVAL));
    }
}
