//! What a serving thread does whether it waits for readiness (`ready`) or for completions (`completion`): it keeps the
//! time, lends sessions, lets connections in or has them wait (`places`), looks at their deadlines (`deadlines`), and
//! counts how they end.

mod deadlines;
mod places;
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
use places::Places;

/// Sessions kept for further connections.
const SPARE: usize = 256;

/// Connections handed to a thread by another one.
pub(crate) struct Inbox {
    pub(crate) waker: Arc<Waker>,
    pub(crate) fds: Mutex<Vec<OwnedFd>>,
}

impl Inbox {
    pub(crate) fn new(waker: Arc<Waker>) -> Arc<Self> {
        Arc::new(Self { waker, fds: Mutex::default() })
    }

    /// Takes what was handed over since the last call.
    pub(crate) fn take(&self) -> Vec<OwnedFd> {
        self.waker.clear();
        std::mem::take(&mut *lock(&self.fds))
    }
}

/// What a thread needs to serve.
pub(crate) struct Shard {
    pub(crate) control: Arc<Control>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) policy: Policy,
    pub(crate) listener: Option<Arc<OwnedFd>>,
    pub(crate) pace: Option<Pace>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) cell: Arc<Cell>,
    /// Called for every connection that ends (models that spread connections over groups).
    pub(crate) on_close: Option<Box<dyn Fn() + Send>>,
}

/// A shard at work: the half of a loop that does not depend on how the loop waits.
pub(crate) struct Common {
    pub(crate) shard: Shard,
    pub(crate) now_ns: u64,
    next_tick_ns: u64,
    /// When deadlines are looked at, while there are any.
    pub(crate) next_sweep_ns: Option<u64>,
    /// Somebody lingers: all connections are looked at.
    lingers: bool,
    /// Connections whose request has begun and whose head is incomplete.
    heads: Vec<u32>,
    places: Places,
    spare: Vec<BoxedSession>,
}

impl Common {
    pub(crate) fn new(shard: Shard) -> Self {
        let mut common = Self {
            places: Places::new(shard.policy.active),
            now_ns: clock::monotonic_ns(),
            next_tick_ns: 0,
            next_sweep_ns: None,
            lingers: false,
            heads: Vec::new(),
            spare: Vec::new(),
            shard,
        };
        common.plan_sweep();
        common
    }

    pub(crate) fn now_ms(&self) -> u32 {
        (self.now_ns / 1_000_000) as u32
    }

    /// Reads the clock, and tells the service of a new second.
    pub(crate) fn tick(&mut self) {
        self.now_ns = clock::monotonic_ns();
        if self.now_ns >= self.next_tick_ns {
            let unix_ns = clock::realtime_ns();
            self.next_tick_ns = self.now_ns + 1_000_000_000 - unix_ns % 1_000_000_000;
            self.shard.service.tick(unix_ns / 1_000_000_000);
        }
    }

    /// Begins a new connection and counts it as open; a `parked` one waits.
    pub(crate) fn begin(&mut self, parked: bool) -> Connection {
        self.shard.cell.opened();
        let session = self.spare.pop().unwrap_or_else(|| self.shard.service.session());
        Connection::new(session, self.now_ms(), parked)
    }

    /// Counts a connection that is over and keeps its session. Returns true when its place is free: see
    /// [`Common::next_in_line`].
    pub(crate) fn end(&mut self, token: u32, connection: Connection, end: End) -> bool {
        self.shard.cell.closed(end);
        let activity = connection.activity;
        if self.spare.len() < SPARE {
            let mut session = connection.into_session();
            session.reset();
            self.spare.push(session);
        }
        if let Some(told) = &self.shard.on_close {
            told();
        }
        self.places.leave(token, &activity)
    }

    /// Lets a new connection in (false) or has it wait (true); an error says how it is to be refused.
    pub(crate) fn admit(&mut self) -> Result<bool, Refuse> {
        self.places.admit()
    }

    /// Refuses a new connection. One without a descriptor is only counted.
    pub(crate) fn refuse(&self, fd: Option<&OwnedFd>, how: Refuse) {
        self.shard.cell.accepted.add(1);
        self.shard.cell.refused.add(1);
        let Some(fd) = fd else { return };
        match how {
            Refuse::Busy => drop(socket::send(fd, self.shard.service.busy_reply())),
            Refuse::Reset => drop(socket::set_reset_on_close(fd)),
            Refuse::Close => {}
        }
    }

    /// Puts a connection at the end of the line for places.
    pub(crate) fn wait_in_line(&mut self, token: u32, activity: &mut Activity) {
        (activity.parked, activity.served) = (true, false);
        self.places.wait(token);
    }

    /// A place became free: who takes it. Call [`Activity::take_place`] for it and go on with it.
    pub(crate) fn next_in_line(&mut self) -> Option<u32> {
        self.places.next()
    }

    /// Whether a connection finished an exchange while others wait, so that it goes to the end of the line.
    pub(crate) fn gives_way(&self, activity: &Activity) -> bool {
        activity.served && !activity.parked && activity.blocked_ms == 0 && self.places.anybody_waits()
    }
}
