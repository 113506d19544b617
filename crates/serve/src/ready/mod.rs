//! Event loop of every readiness model: waits for events, and then gives each ready connection a turn. A turn writes
//! the waiting output of a connection, reads requests, and writes the answers.
//!
//! A model implements [`Readiness`], which watches descriptors and waits for them. This module contains the parts of
//! the event loop that all readiness models share.

mod conn;
mod turns;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd};

use crate::ServeError;
use crate::acceptor::{Accepted, Acceptor};
use crate::shard::{Shard, ShardSetup};
use crate::slab::Slab;
pub(crate) use conn::{Conn, Scratch, Turn, Want};

/// Number that determines how long before a scheduled write the server stops waiting for the time of the write. The
/// wait ends early by the length of the whole wait divided by `EARLY_PART`.
const EARLY_PART: u64 = 64;
/// Token that stands for the listening socket.
pub(crate) const LISTENER: u32 = u32::MAX;
/// Token that stands for the waker.
pub(crate) const WAKER: u32 = u32::MAX - 1;

/// Mechanism that tells a thread which descriptors are ready.
pub(crate) trait Readiness {
    /// True if the mechanism is edge-triggered. An edge-triggered mechanism reports only changes, so each connection is
    /// served until its socket would block.
    const EDGE: bool;
    /// True if the mechanism does not report descriptors that are already ready when they are added. If true, each new
    /// connection is read immediately, without waiting for an event.
    const TRY_NEW: bool = false;

    /// Returns the maximum number of connections accepted per wake-up.
    fn accepts(&self) -> u32 {
        u32::MAX
    }

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()>;
    fn change(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()>;
    /// Stops watching a descriptor before it is closed.
    fn remove(&mut self, fd: BorrowedFd<'_>, token: u32);
    /// Waits for at most `timeout_ns` (`None` for no limit), and appends the ready descriptors to `ready`.
    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()>;
}

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) token: u32,
    pub(crate) read: bool,
    /// True if the peer has closed its side or the connection is broken.
    pub(crate) gone: bool,
}

/// Serving thread of a readiness model.
pub(crate) struct Worker<R> {
    shard: Shard,
    poller: R,
    acceptor: Option<Acceptor>,
    /// True if the poller watches the listening socket.
    listening: bool,
    conns: Slab<Conn>,
    scratch: Scratch,
    again: Vec<u32>,
    /// True if more connections may be waiting for accept. An edge-triggered poller reports waiting connections only
    /// once.
    accept_again: bool,
    /// Number of connections with waiting output.
    blocked: u32,
    /// Times at which connections are due to write again, each with the token of its connection. The earliest time is
    /// on top of the heap.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// True if the service's connections send at planned times, and not only in response to input.
    is_timed: bool,
    /// For the strategy `limits`: true if so many connections have waiting output that no other connection is read.
    held: bool,
}

impl<R: Readiness> Worker<R> {
    pub(crate) fn new(setup: ShardSetup, poller: R) -> Self {
        let shard = Shard::new(setup);
        let (listener, is_timed) = (shard.setup.listener.clone(), shard.setup.service.is_timed());
        Self {
            acceptor: listener.map(|fd| Acceptor::new(fd, shard.setup.pace, shard.now_ns)),
            shard,
            poller,
            listening: false,
            conns: Slab::new(),
            scratch: Scratch::new(),
            again: Vec::new(),
            accept_again: false,
            blocked: 0,
            due: BinaryHeap::new(),
            is_timed,
            held: false,
        }
    }

    /// Serves until the server is stopped.
    pub(crate) fn run(mut self) -> Result<(), ServeError> {
        let os = |what| move |e| ServeError::os(what, e);
        let waker = self.shard.setup.inbox.waker.clone();
        self.poller.add(waker.as_fd(), WAKER, Want { read: true, write: false }).map_err(os("watch the waker"))?;
        let (mut ready, mut again) = (Vec::with_capacity(1024), Vec::new());
        while !self.shard.setup.control.stopping() {
            self.watch_listener().map_err(os("watch the listening socket"))?;
            let timeout = self.timeout();
            ready.clear();
            self.poller.wait(timeout, &mut ready).map_err(os("wait for events"))?;
            self.shard.tick();
            for event in &ready {
                match event.token {
                    WAKER => self.shard.setup.inbox.take().into_iter().for_each(|fd| self.open(fd)),
                    LISTENER => self.accept(),
                    token => self.turn(token, event.read, event.gone),
                }
            }
            std::mem::swap(&mut again, &mut self.again);
            again.drain(..).for_each(|token| self.turn(token, true, true));
            if std::mem::take(&mut self.accept_again) {
                self.accept();
            }
            self.timers();
        }
        Ok(())
    }

    fn timeout(&self) -> Option<u64> {
        if !self.again.is_empty() || self.accept_again {
            return Some(0);
        }
        let accept = self.acceptor.as_ref().and_then(Acceptor::due_ns);
        // The kernel may end a wait late, by up to 0.5 % of its length. The thread therefore wakes up early and waits a
        // second time, for so short a time that the second wait ends only slightly late.
        let early = |due_ns: u64| due_ns - due_ns.saturating_sub(self.shard.now_ns) / EARLY_PART;
        let write = self.due.peek().map(|Reverse((due_ns, _))| early(*due_ns));
        let due = accept.into_iter().chain(self.shard.next_sweep_ns).chain(write).min()?;
        Some(due.saturating_sub(self.shard.now_ns))
    }

    /// Starts or stops watching the listening socket. The listening socket is watched while connections are accepted
    /// when it is ready, and not by a timer.
    fn watch_listener(&mut self) -> sys::Result<()> {
        let Some(acceptor) = &self.acceptor else { return Ok(()) };
        match (acceptor.on_readiness(), self.listening) {
            (true, false) => self.poller.add(acceptor.fd().as_fd(), LISTENER, Want { read: true, write: false })?,
            (false, true) => self.poller.remove(acceptor.fd().as_fd(), LISTENER),
            _ => return Ok(()),
        }
        self.listening = !self.listening;
        Ok(())
    }

    fn accept(&mut self) {
        let (most, now_ns) = (self.poller.accepts(), self.shard.now_ns);
        let allowance = self.acceptor.as_mut().map_or(0, |a| a.allowance(now_ns).min(most));
        for _ in 0..allowance {
            let Some(acceptor) = &mut self.acceptor else { return };
            match acceptor.take(now_ns, &self.shard.setup.cell) {
                Accepted::One(fd) => self.open(fd),
                Accepted::None | Accepted::Pause => return,
            }
        }
        self.accept_again = R::EDGE && allowance > 0 && self.acceptor.as_ref().is_some_and(Acceptor::on_readiness);
    }

    fn timers(&mut self) {
        if self.acceptor.as_ref().and_then(Acceptor::due_ns).is_some_and(|due| due <= self.shard.now_ns) {
            self.accept();
        }
        if self.shard.sweep_due() {
            self.sweep();
        }
        while self.due.peek().is_some_and(|Reverse((due_ns, _))| *due_ns <= self.shard.now_ns) {
            // If the connection has ended, another connection may have its token. An additional turn does no harm to
            // this other connection.
            self.due.pop().into_iter().for_each(|Reverse((_, token))| self.turn(token, false, false));
        }
    }
}
