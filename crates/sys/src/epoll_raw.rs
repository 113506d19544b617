//! epoll with descriptor numbers, for interfaces whose callers pass such numbers (the event API). For a number that is
//! not open, the kernel returns EBADF. No function here reads, writes or closes a descriptor. The module `epoll` has
//! the same operations for owned descriptors. Source: epoll_ctl(2), epoll_pwait2(2).

use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::Result;
use crate::epoll::{Epoll, Event, Interest};

/// Buffer for the events of one wait. A wait may fill only a part of the buffer.
#[derive(Default)]
pub struct Slots {
    list: Vec<libc::epoll_event>,
    used: usize,
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} slots used", self.used, self.list.len())
    }
}

impl Slots {
    /// Returns the events of the last wait.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.list[..self.used].iter().map(|e| Event { token: e.u64, flags: Interest::from_bits_retain(e.events) })
    }
}

/// Adds a descriptor to the epoll instance. Each event of the descriptor contains `token`.
#[inline]
pub fn add(epoll: &Epoll, fd: RawFd, token: u64, interest: Interest) -> Result<()> {
    control(epoll, libc::EPOLL_CTL_ADD, fd, token, interest)
}

/// Changes the requested events and the token of a descriptor.
#[inline]
pub fn modify(epoll: &Epoll, fd: RawFd, token: u64, interest: Interest) -> Result<()> {
    control(epoll, libc::EPOLL_CTL_MOD, fd, token, interest)
}

/// Removes a descriptor from the epoll instance.
#[inline]
pub fn delete(epoll: &Epoll, fd: RawFd) -> Result<()> {
    control(epoll, libc::EPOLL_CTL_DEL, fd, 0, Interest::empty())
}

#[inline]
fn control(epoll: &Epoll, op: libc::c_int, fd: RawFd, token: u64, interest: Interest) -> Result<()> {
    let mut event = libc::epoll_event { events: interest.bits(), u64: token };
    // SAFETY: the event is valid during the call. The kernel checks both descriptor numbers and touches no other
    // memory.
    let r = unsafe { libc::epoll_ctl(epoll.as_fd().as_raw_fd(), op, fd, &raw mut event) };
    if r == 0 { Ok(()) } else { Err(crate::last_errno()) }
}

/// Waits for events, for at most `timeout_ns` nanoseconds (`None`: no limit; 0: no wait). Returns the number of events,
/// at most `max`. A `max` of 0 counts as 1. A signal ends the wait with 0 events.
#[inline]
pub fn wait(epoll: &Epoll, slots: &mut Slots, max: usize, timeout_ns: Option<u64>) -> Result<usize> {
    let max = max.clamp(1, 1 << 20);
    if slots.list.len() < max {
        slots.list.resize(max, libc::epoll_event { events: 0, u64: 0 });
    }
    slots.used = 0;
    let timeout = timeout_ns.map(crate::timespec);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array is valid for `max` events and exclusively borrowed. The timeout is null or points to a timespec
    // that lives until the end of this function. No signal mask is passed, so its size is ignored.
    let n = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_fd().as_raw_fd(),
            slots.list.as_mut_ptr(),
            max as libc::c_int,
            timeout,
            std::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    slots.used = crate::ready(n)?.min(max);
    Ok(slots.used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Errno;
    use std::io::Write;

    #[test]
    fn a_wait_returns_at_most_max_events_and_the_next_wait_the_rest() {
        let epoll = Epoll::new().unwrap();
        let mut pairs: Vec<_> = (0..5).map(|_| std::os::unix::net::UnixStream::pair().unwrap()).collect();
        for (n, (a, b)) in pairs.iter_mut().enumerate() {
            add(&epoll, a.as_raw_fd(), n as u64, Interest::IN | Interest::ET).unwrap();
            b.write_all(b"x").unwrap();
        }
        let mut slots = Slots::default();
        assert_eq!(wait(&epoll, &mut slots, 3, Some(0)), Ok(3));
        assert_eq!(slots.iter().map(|e| e.token).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(wait(&epoll, &mut slots, 3, None), Ok(2));
        assert_eq!(add(&epoll, 1_000_000, 0, Interest::IN), Err(Errno::BADF));
        assert_eq!(modify(&epoll, pairs[0].1.as_raw_fd(), 0, Interest::IN), Err(Errno::NOENT));
        delete(&epoll, pairs[0].0.as_raw_fd()).unwrap();
    }
}
