//! The part of a serving thread that readiness models (`ready`) and completion models (`completion`) share.
//!
//! A shard belongs to one serving thread. The shard reads the clock, reuses sessions, and counts how connections end.
//! The shard also admits connections or lets them wait (`slots`), and checks deadlines (`deadlines`).

mod deadlines;
mod slots;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use sys::{clock, socket, wake::Waker};

use crate::Service;
use crate::acceptor::Pace;
use crate::connection::{Activity, BoxedSession, Connection, End};
use crate::control::{Control, lock};
use crate::stats::Cell;
use crate::strategies::{Policy, Refuse};
pub(crate) use deadlines::SWEEP_NS;
use slots::Slots;

/// Maximum number of sessions that are kept for later connections.
const MAX_SPARE_SESSIONS: usize = 256;

/// Queue of connections that another thread passes to the serving thread.
pub(crate) struct Inbox {
    pub(crate) waker: Arc<Waker>,
    pub(crate) fds: Mutex<Vec<OwnedFd>>,
}

impl Inbox {
    pub(crate) fn new(waker: Arc<Waker>) -> Arc<Self> {
        Arc::new(Self { waker, fds: Mutex::default() })
    }

    /// Takes the connections that arrived since the last call.
    pub(crate) fn take(&self) -> Vec<OwnedFd> {
        self.waker.clear();
        std::mem::take(&mut *lock(&self.fds))
    }
}

/// Data that a serving thread needs to start.
pub(crate) struct ShardSetup {
    pub(crate) control: Arc<Control>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) policy: Policy,
    pub(crate) listener: Option<Arc<OwnedFd>>,
    pub(crate) pace: Option<Pace>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) cell: Arc<Cell>,
    /// Function that the shard calls when a connection ends. Only group models set this function.
    pub(crate) on_close: Option<Box<dyn Fn() + Send>>,
}

/// State of a serving thread, without the event loop.
pub(crate) struct Shard {
    pub(crate) setup: ShardSetup,
    pub(crate) now_ns: u64,
    next_tick_ns: u64,
    /// Time of the next check of deadlines; `None` without deadlines.
    pub(crate) next_sweep_ns: Option<u64>,
    /// True if the server has closed its sending side of a connection whose peer has not closed yet. While
    /// `any_lingers` is true, the next check of deadlines covers all connections.
    any_lingers: bool,
    /// Connections whose request heads are incomplete and have a deadline.
    heads: Vec<u32>,
    slots: Slots,
    spare: Vec<BoxedSession>,
}

impl Shard {
    pub(crate) fn new(setup: ShardSetup) -> Self {
        let mut shard = Self {
            slots: Slots::new(setup.policy.active),
            now_ns: clock::monotonic_ns(),
            next_tick_ns: 0,
            next_sweep_ns: None,
            any_lingers: false,
            heads: Vec::new(),
            spare: Vec::new(),
            setup,
        };
        shard.plan_sweep();
        shard
    }

    pub(crate) fn now_ms(&self) -> u32 {
        (self.now_ns / 1_000_000) as u32
    }

    /// Reads the clock, and tells the service when a new second begins.
    pub(crate) fn tick(&mut self) {
        self.now_ns = clock::monotonic_ns();
        if self.now_ns >= self.next_tick_ns {
            let unix_ns = clock::realtime_ns();
            self.next_tick_ns = self.now_ns + 1_000_000_000 - unix_ns % 1_000_000_000;
            self.setup.service.tick(unix_ns / 1_000_000_000);
        }
    }

    /// Begins a new connection and counts it as open. If `parked` is true, the server at first neither reads from nor
    /// writes to the connection (see [`Activity::parked`]).
    pub(crate) fn begin(&mut self, parked: bool) -> Connection {
        self.setup.cell.opened();
        let session = self.spare.pop().unwrap_or_else(|| self.setup.service.session());
        Connection::new(session, self.now_ms(), parked)
    }

    /// Counts a connection that has ended, and stores its session for a later connection. Returns true if a worker slot
    /// is now free. If a slot is free, the caller must call [`Shard::next_in_line`], which gives the slot to another
    /// connection.
    pub(crate) fn end(&mut self, token: u32, connection: Connection, end: End) -> bool {
        self.setup.cell.closed(end);
        let activity = connection.activity;
        if self.spare.len() < MAX_SPARE_SESSIONS {
            let mut session = connection.into_session();
            session.reset();
            self.spare.push(session);
        }
        if let Some(told) = &self.setup.on_close {
            told();
        }
        self.slots.leave(token, &activity)
    }

    /// Decides whether the server serves a new connection. Returns `Ok(false)` if the connection is served at once, and
    /// `Ok(true)` if it must wait for a free worker slot. If the server must refuse the connection, the error states
    /// how: with a "busy" answer, by closing it, or by resetting it.
    pub(crate) fn admit(&mut self) -> Result<bool, Refuse> {
        self.slots.admit()
    }

    /// Refuses a new connection. If the connection has no descriptor, this method only counts it.
    pub(crate) fn refuse(&self, fd: Option<&OwnedFd>, how: Refuse) {
        self.setup.cell.accepted.add(1);
        self.setup.cell.refused.add(1);
        let Some(fd) = fd else { return };
        match how {
            Refuse::Busy => drop(socket::send(fd, self.setup.service.busy_reply())),
            Refuse::Reset => drop(socket::set_reset_on_close(fd)),
            Refuse::Close => {}
        }
    }

    /// Puts a connection at the end of the queue for worker slots.
    pub(crate) fn wait_in_line(&mut self, token: u32, activity: &mut Activity) {
        (activity.parked, activity.served) = (true, false);
        self.slots.wait(token);
    }

    /// Returns the token of the connection that gets the free worker slot; `None` if no connection waits for a slot.
    /// The caller must then call [`Activity::take_slot`], and continue with the returned connection.
    pub(crate) fn next_in_line(&mut self) -> Option<u32> {
        self.slots.next()
    }

    /// Returns true if a connection must give up its worker slot and go to the end of the queue. A connection must give
    /// up its slot if it has completed a request while other connections wait for a worker slot.
    pub(crate) fn gives_way(&self, activity: &Activity) -> bool {
        activity.served && !activity.parked && activity.blocked_ms == 0 && self.slots.any_waits()
    }
}
