//! Accepts connections: as soon as they arrive, or in batches on a timer.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use sys::poll::{self, Entry};
use sys::wake::Waker;
use sys::{Errno, clock, socket};

use crate::ServeError;
use crate::control::Control;
use crate::options::Options;
use crate::stats::Cell;

/// Maximum number of connections accepted per wake-up. The maximum ensures that the thread also serves the connections
/// that are already open.
const MAX_ACCEPTS_PER_WAKE: u32 = 64;
/// Time for which no connections are accepted after descriptors or memory ran out, nanoseconds.
pub(crate) const PAUSE_NS: u64 = 100_000_000;

/// Timer for accepting connections in batches at fixed intervals, instead of when the socket is ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) every_ns: u64,
    pub(crate) batch: u32,
}

impl Pace {
    pub(crate) fn from(options: &Options<'_>) -> Result<Option<Self>, ServeError> {
        let Some(ms) = options.positive("accept_every_ms")? else { return Ok(None) };
        Ok(Some(Self { every_ns: (ms * 1e6) as u64, batch: options.get("accept_batch")?.unwrap_or(1) }))
    }
}

/// Accepts connections for one thread. The acceptor pauses when resources run out. If a timer is set, the acceptor
/// accepts only when the timer expires.
pub(crate) struct Acceptor {
    fd: Arc<OwnedFd>,
    pace: Option<Pace>,
    /// Time at which the next batch of connections is accepted, or at which a pause ends.
    due_ns: u64,
    paused: bool,
}

/// Outcome of one attempt to accept a connection.
pub(crate) enum Accepted {
    One(OwnedFd),
    /// No connection was accepted: none waits, or the first one has already ended.
    None,
    /// No descriptor or memory is left. The listening socket's readiness must be ignored until [`Acceptor::due_ns`].
    Pause,
}

impl Acceptor {
    pub(crate) fn new(fd: Arc<OwnedFd>, pace: Option<Pace>, now_ns: u64) -> Self {
        Self { fd, pace, due_ns: now_ns, paused: false }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Returns true if the thread should wait until the listening socket is ready.
    pub(crate) fn on_readiness(&self) -> bool {
        self.pace.is_none() && !self.paused
    }

    /// Returns the time at which the next batch of connections is accepted, or at which a pause ends. Returns `None` if
    /// the thread should wait until the listening socket is ready.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        (!self.on_readiness()).then_some(self.due_ns)
    }

    /// Returns the maximum number of connections to accept now.
    pub(crate) fn allowance(&mut self, now_ns: u64) -> u32 {
        self.paused = false;
        let Some(pace) = self.pace else { return MAX_ACCEPTS_PER_WAKE };
        if now_ns < self.due_ns {
            return 0;
        }
        // If several periods of the timer have already passed, the thread still accepts only one batch.
        self.due_ns = (self.due_ns + pace.every_ns).max(now_ns + pace.every_ns / 2);
        pace.batch
    }

    /// Accepts one connection.
    pub(crate) fn take(&mut self, now_ns: u64, cell: &Cell) -> Accepted {
        match socket::accept(&*self.fd) {
            Ok(fd) => Accepted::One(fd),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                cell.accept_paused.add(1);
                self.pause(now_ns);
                Accepted::Pause
            }
            // Either no connection waits, or a connection ended before it was accepted (accept(2)).
            Err(_) => Accepted::None,
        }
    }

    fn pause(&mut self, now_ns: u64) {
        self.paused = true;
        self.due_ns = self.due_ns.max(now_ns + PAUSE_NS);
    }

    /// Runs a thread that only accepts connections. The thread ends when the server stops and signals `waker`.
    pub(crate) fn run(
        mut self,
        control: &Control,
        waker: &Waker,
        cell: &Cell,
        mut open: impl FnMut(OwnedFd),
    ) -> Result<(), ServeError> {
        while !control.stopping() {
            let asked = if self.on_readiness() { poll::IN } else { 0 };
            let mut entries = [Entry::new(waker.as_raw_fd(), poll::IN), Entry::new(self.fd.as_raw_fd(), asked)];
            let timeout = self.due_ns().map(|due| due.saturating_sub(clock::monotonic_ns()));
            poll::poll(&mut entries, timeout).map_err(|e| ServeError::os("wait for connections", e))?;
            let now_ns = clock::monotonic_ns();
            for _ in 0..self.allowance(now_ns) {
                match self.take(now_ns, cell) {
                    Accepted::One(fd) => open(fd),
                    Accepted::None | Accepted::Pause => break,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket() -> OwnedFd {
        let control = Control::new(&[], None);
        let (mut opened, _) = crate::listener::open("127.0.0.1:0", 1, 1, false, false, &control).unwrap();
        Arc::into_inner(opened.remove(0)).unwrap()
    }

    #[test]
    fn connections_are_accepted_in_batches_on_the_timer() {
        let pace = Pace { every_ns: 50, batch: 2 };
        let mut acceptor = Acceptor::new(Arc::new(socket()), Some(pace), 1000);
        assert!(!acceptor.on_readiness());
        assert_eq!((acceptor.allowance(1000), acceptor.due_ns()), (2, Some(1050)));
        assert_eq!(acceptor.allowance(1049), 0);
        // A late wake-up also delays the next times at which connections are accepted. For timer periods that have
        // already passed, no additional batch is accepted.
        assert_eq!((acceptor.allowance(1990), acceptor.due_ns()), (2, Some(2015)));
        assert_eq!(acceptor.allowance(2000), 0);
    }

    #[test]
    fn accepting_pauses_without_descriptors_and_resumes() {
        let mut acceptor = Acceptor::new(Arc::new(socket()), None, 0);
        assert!(acceptor.on_readiness() && acceptor.due_ns().is_none());
        acceptor.pause(7);
        assert!(!acceptor.on_readiness());
        assert_eq!(acceptor.due_ns(), Some(7 + PAUSE_NS));
        assert_eq!(acceptor.allowance(7 + PAUSE_NS), MAX_ACCEPTS_PER_WAKE);
        assert!(acceptor.on_readiness());
    }
}
