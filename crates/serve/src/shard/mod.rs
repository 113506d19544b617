//! Work of a serving thread that is the same for readiness models (`ready`) and for completion models (`completion`).
//!
//! A shard keeps the time, uses sessions again, admits connections or lets them wait (`slots`), checks deadlines
//! (`deadlines`), and counts how connections end.

mod deadlines;
mod slots;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use sys::{clock, socket, wake::Waker};

use crate::Service;
use crate::connection::{Activity, BoxedSession, Connection, End};
use crate::listener::Pace;
use crate::server::{Control, lock};
use crate::stats::Cell;
use crate::strategies::{Policy, Refuse};
pub(crate) use deadlines::SWEEP_NS;
use slots::Slots;

/// Maximum number of sessions kept for further connections.
const MAX_SPARE_SESSIONS: usize = 256;

/// Queue of connections that another thread passes to this one.
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

/// What a serving thread needs to start.
pub(crate) struct ShardSetup {
    pub(crate) control: Arc<Control>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) policy: Policy,
    pub(crate) listener: Option<Arc<OwnedFd>>,
    pub(crate) pace: Option<Pace>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) cell: Arc<Cell>,
    /// Function that is called for every connection that ends. Models that divide connections into groups set this
    /// function.
    pub(crate) on_close: Option<Box<dyn Fn() + Send>>,
}

/// State of a serving thread that does not depend on how its loop waits.
pub(crate) struct Shard {
    pub(crate) setup: ShardSetup,
    pub(crate) now_ns: u64,
    next_tick_ns: u64,
    /// Time of the next check of deadlines, while there are deadlines.
    pub(crate) next_sweep_ns: Option<u64>,
    /// True if a connection waits for its peer to close; the next check then covers all connections.
    any_lingers: bool,
    /// Connections with an incomplete request head.
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

    /// Reads the clock and informs the service when a new second begins.
    pub(crate) fn tick(&mut self) {
        self.now_ns = clock::monotonic_ns();
        if self.now_ns >= self.next_tick_ns {
            let unix_ns = clock::realtime_ns();
            self.next_tick_ns = self.now_ns + 1_000_000_000 - unix_ns % 1_000_000_000;
            self.setup.service.tick(unix_ns / 1_000_000_000);
        }
    }

    /// Begins a new connection and counts it as open. A connection that is `parked` waits until a strategy lets it
    /// continue.
    pub(crate) fn begin(&mut self, parked: bool) -> Connection {
        self.setup.cell.opened();
        let session = self.spare.pop().unwrap_or_else(|| self.setup.service.session());
        Connection::new(session, self.now_ms(), parked)
    }

    /// Counts a connection that has ended, and stores its session for another one. Returns true if a slot is now free
    /// for [`Shard::next_in_line`].
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

    /// Admits a new connection. Returns true if the connection must wait for a slot. The error says how to refuse the
    /// connection.
    pub(crate) fn admit(&mut self) -> Result<bool, Refuse> {
        self.slots.admit()
    }

    /// Refuses a new connection. If the connection has no descriptor, it is only counted.
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

    /// Puts a connection at the end of the waiting line.
    pub(crate) fn wait_in_line(&mut self, token: u32, activity: &mut Activity) {
        (activity.parked, activity.served) = (true, false);
        self.slots.wait(token);
    }

    /// Returns the connection that takes the freed slot. The caller calls [`Activity::take_slot`] and continues with
    /// this connection.
    pub(crate) fn next_in_line(&mut self) -> Option<u32> {
        self.slots.next()
    }

    /// Returns true if a connection must go to the end of the waiting line, because it has finished an exchange while
    /// others wait.
    pub(crate) fn gives_way(&self, activity: &Activity) -> bool {
        activity.served && !activity.parked && activity.blocked_ms == 0 && self.slots.any_waits()
    }
}
