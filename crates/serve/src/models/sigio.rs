//! Signal-driven I/O: the kernel queues a real-time signal for every change of a socket (O_ASYNC, F_SETSIG). One thread
//! takes the signals in order, one at a time, as a Windows program takes messages. The model corresponds to
//! WSAAsyncSelect on Windows.
//!
//! When the signal queue is full (RLIMIT_SIGPENDING), the kernel sends SIGIO instead, and the thread then checks all
//! sockets.
//!
//! Windows sends no further message for a socket until its data is read. Linux sends a signal for every event, even for
//! an acknowledgement that makes space for writing.
//!
//! Cost of an event: a system call to take its signal, then recv calls until one would block, and a send.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use sys::sigio::{Signal, Signals};

use super::launch::Launch;
use crate::ServeError;
use crate::ready::Want;
use crate::ready::{Readiness, Ready, WAKER, Worker};

/// Maximum wait for a signal, nanoseconds. The wait is short, because the eventfd that tells the server to stop causes
/// no signal.
const MAX_WAIT_NS: u64 = 50_000_000;

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    let (mut listeners, addr) = launch.listen(1, false)?;
    let shard = launch.shard(Some(listeners.remove(0)))?;
    launch.control.spawn("sigio", || {
        let signals = Signals::for_this_thread().map_err(|e| ServeError::os("block the signals of sockets", e))?;
        Worker::new(shard, Queue { signals, tokens: Vec::new(), tried: Vec::new() }).run()
    })?;
    Ok(addr)
}

struct Queue {
    signals: Signals,
    /// Token of each descriptor number, plus 1; 0 for a number that is not watched.
    tokens: Vec<u32>,
    /// Tokens of new descriptors, which the thread tries once without waiting for a signal. If a descriptor was ready
    /// before it was watched, the kernel has sent no signal.
    tried: Vec<u32>,
}

impl Readiness for Queue {
    const EDGE: bool = true;

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, _want: Want) -> sys::Result<()> {
        if token == WAKER {
            return Ok(());
        }
        let at = usize::try_from(fd.as_raw_fd()).unwrap_or_default();
        if self.tokens.len() <= at {
            self.tokens.resize(at + 1, 0);
        }
        self.tokens[at] = token.wrapping_add(1);
        if token == u32::MAX {
            self.tokens[at] = WAKER;
        }
        self.tried.push(token);
        self.signals.watch(fd)
    }

    fn change(&mut self, _fd: BorrowedFd<'_>, _token: u32, _want: Want) -> sys::Result<()> {
        Ok(())
    }

    fn remove(&mut self, fd: BorrowedFd<'_>, _token: u32) {
        if let Some(token) = self.tokens.get_mut(fd.as_raw_fd() as usize) {
            *token = 0;
        }
        let _ = self.signals.unwatch(fd);
    }

    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()> {
        let all = |token| Ready { token, read: true, gone: true };
        if !self.tried.is_empty() {
            ready.extend(self.tried.drain(..).map(all));
            return Ok(());
        }
        match self.signals.wait(timeout_ns.unwrap_or(MAX_WAIT_NS).min(MAX_WAIT_NS))? {
            Some(Signal::Descriptor(fd)) => ready.extend(self.token(fd as usize).map(all)),
            Some(Signal::Overflow) => ready.extend((0..self.tokens.len()).filter_map(|fd| self.token(fd)).map(all)),
            None => {}
        }
        Ok(())
    }
}

impl Queue {
    fn token(&self, fd: usize) -> Option<u32> {
        match self.tokens.get(fd).copied() {
            None | Some(0) => None,
            Some(WAKER) => Some(u32::MAX),
            Some(t) => Some(t - 1),
        }
    }
}
