//! epoll with nanosecond timeouts (epoll_pwait2). Each function of this module makes one system call. [`Interest`]
//! selects edge-triggered or level-triggered events. Source: epoll(7), epoll_pwait2(2).

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll as rx;

use crate::Result;

/// Requested events as epoll bits, for example `Interest::IN | Interest::ET`.
pub use rustix::event::epoll::EventFlags as Interest;

/// An epoll instance.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

/// Buffer for the events of one wait. The buffer is reused, so waiting allocates nothing.
#[allow(missing_debug_implementations)] // the kernel structure has none
pub struct Events {
    list: Vec<rx::Event>,
}

/// One event that epoll reports.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Number that was passed to [`Epoll::add`] or [`Epoll::modify`] for the descriptor.
    pub token: u64,
    /// Kinds of events, as bits.
    pub flags: Interest,
}

impl Events {
    /// Allocates room for `capacity` events per wait.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { list: Vec::with_capacity(capacity.max(1)) }
    }

    /// Returns the events of the last wait.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.list.iter().map(|e| Event { token: e.data.u64(), flags: e.flags })
    }

    /// Returns the event at index `at` of the last wait.
    #[inline]
    pub fn get(&self, at: usize) -> Option<Event> {
        self.list.get(at).map(|e| Event { token: e.data.u64(), flags: e.flags })
    }

    /// Returns the number of events of the last wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if the last wait returned no events.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Epoll {
    /// Creates a new instance, closed on exec.
    pub fn new() -> Result<Self> {
        Ok(Self { fd: rx::create(rx::CreateFlags::CLOEXEC)? })
    }

    /// Adds a descriptor to the epoll instance. Each event of the descriptor contains `token`.
    #[inline]
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> Result<()> {
        rx::add(&self.fd, fd, rx::EventData::new_u64(token), interest)
    }

    /// Changes the requested events and the token of a descriptor.
    #[inline]
    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> Result<()> {
        rx::modify(&self.fd, fd, rx::EventData::new_u64(token), interest)
    }

    /// Removes a descriptor from the epoll instance. The kernel also removes a descriptor when the last copy of the
    /// descriptor is closed.
    #[inline]
    pub fn delete(&self, fd: impl AsFd) -> Result<()> {
        rx::delete(&self.fd, fd)
    }

    /// Waits for events, for at most `timeout_ns` nanoseconds (`None`: no limit; 0: no wait). Returns the number of
    /// events. A signal ends the wait with 0 events.
    #[inline]
    pub fn wait(&self, events: &mut Events, timeout_ns: Option<u64>) -> Result<usize> {
        let timeout =
            timeout_ns.map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ });
        events.list.clear();
        match rx::wait(&self.fd, rustix::buffer::spare_capacity(&mut events.list), timeout.as_ref()) {
            Ok(n) => Ok(n),
            Err(crate::Errno::INTR) => Ok(0),
            Err(e) => Err(e),
        }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, limits, socket};

    #[test]
    fn a_new_connection_is_reported_with_its_token() {
        let listener = socket::tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        socket::bind(&listener, "127.0.0.1:0".parse().unwrap()).unwrap();
        socket::listen(&listener, 8).unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(&listener, 42, Interest::IN | Interest::ET).unwrap();
        let mut events = Events::with_capacity(4);
        assert_eq!(epoll.wait(&mut events, Some(0)).unwrap(), 0);
        let _client = std::net::TcpStream::connect(socket::local_addr(&listener).unwrap()).unwrap();
        assert_eq!(epoll.wait(&mut events, Some(30_000_000_000)).unwrap(), 1);
        assert_eq!(events.get(0).unwrap().token, 42);
    }

    #[test]
    fn a_short_timeout_is_not_rounded_to_milliseconds() {
        std::thread::spawn(|| {
            limits::exact_timers().unwrap();
            let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(1));
            // One short wait is enough, because other load on the machine makes waits longer. A timeout that is rounded
            // to milliseconds makes every wait last for at least 1 ms.
            testkit::eventually(|| {
                let begin = clock::monotonic_ns();
                epoll.wait(&mut events, Some(20_000)).unwrap();
                let waited_ns = clock::monotonic_ns() - begin;
                assert!(waited_ns >= 20_000, "{waited_ns} ns");
                (waited_ns < 900_000).then_some(())
            });
        })
        .join()
        .unwrap();
    }
}
