//! poll(2) with nanosecond timeouts (ppoll) over an array that the caller keeps. Descriptors are plain numbers here:
//! a number that is not open is reported as [`NVAL`] in its entry, nothing is read, written or closed.

use std::os::fd::RawFd;

use crate::{Errno, Result};

/// There is something to read, or an end of file.
pub const IN: i16 = libc::POLLIN;
/// There is room to write.
pub const OUT: i16 = libc::POLLOUT;
/// There is an exceptional condition, such as urgent data.
pub const PRI: i16 = libc::POLLPRI;
/// The peer has closed its sending side.
pub const RDHUP: i16 = libc::POLLRDHUP;
/// An error is pending; reported without being asked for.
pub const ERR: i16 = libc::POLLERR;
/// Both sides are closed; reported without being asked for.
pub const HUP: i16 = libc::POLLHUP;
/// The number is not an open descriptor; reported without being asked for.
pub const NVAL: i16 = libc::POLLNVAL;

/// One descriptor with what is asked (`POLL…` bits) and what was found.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Entry(libc::pollfd);

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fd {} asked {:#x} found {:#x}", self.0.fd, self.0.events, self.0.revents)
    }
}

impl Entry {
    /// Asks for `events` of `fd`.
    #[inline]
    pub const fn new(fd: RawFd, events: i16) -> Self {
        Self(libc::pollfd { fd, events, revents: 0 })
    }

    /// The descriptor.
    #[inline]
    pub const fn fd(&self) -> RawFd {
        self.0.fd
    }

    /// What is asked.
    #[inline]
    pub const fn asked(&self) -> i16 {
        self.0.events
    }

    /// Asks for other events.
    #[inline]
    pub const fn ask(&mut self, events: i16) {
        self.0.events = events;
    }

    /// What the last [`poll`] found.
    #[inline]
    pub const fn found(&self) -> i16 {
        self.0.revents
    }
}

/// Waits until an entry has something, at most `timeout_ns` nanoseconds (`None`: without end), and returns how many
/// have. A signal ends the wait with 0, and then nothing is found in any entry.
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

/// What holds for one descriptor now, of `events` and the three that are always told; no wait.
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
        // The child of a neighbouring test may have a copy for a moment.
        testkit::eventually(|| (now(a.as_raw_fd(), IN).unwrap() & HUP == HUP).then_some(()));
        assert_eq!(now(1_000_000, IN), Ok(NVAL));
    }
}
