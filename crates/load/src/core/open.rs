//! The open loop: requests start when they are due, whatever the server does. A due request takes an idle connection, or
//! waits for one while the pool grows up to its limit. None is skipped: a request that never found a connection stays
//! counted as due and not sent.

use super::due::AT_ONCE;
use super::pool::Pool;
use super::{Core, Mode, State};
use crate::driver::Ops;

/// Connections that a pool of persistent ones opens at the same time. A pause of a few milliseconds leaves hundreds of
/// requests waiting; a connection for each would cost more than the pause and make the next one.
const MOST_OPENING: usize = 128;

impl Core {
    fn pool(&mut self) -> Option<&mut Pool> {
        match &mut self.mode {
            Mode::Open(pool) => Some(pool),
            _ => None,
        }
    }

    /// Starts what is due.
    pub(super) fn open_due<O: Ops>(&mut self, ops: &mut O) {
        let now = ops.now();
        for _ in 0..AT_ONCE {
            let Some(pool) = self.pool() else { return };
            let Some(due) = pool.dues.take_due(now) else { return };
            pool.need.arrived();
            let first = pool.dues.waiting() == 1;
            let idle = if first { pool.idle.pop() } else { None };
            self.record.counts.due += 1;
            if self.record.measuring {
                self.record.start_error.record_ns(now.saturating_sub(due));
            }
            match idle {
                Some(conn) => self.serve_waiting(ops, conn, false),
                None => self.grow(ops),
            }
        }
    }

    /// One more connection when fewer are on their way than requests wait, and the pool needs more than it has.
    fn grow<O: Ops>(&mut self, ops: &mut O) {
        let (own, full, used) = (self.task.new_connections, self.free.is_empty(), self.used());
        let wanted = self.wanted();
        let Some(pool) = self.pool() else { return };
        if full || wanted <= pool.opening {
            return;
        }
        // With a connection a request each arrival needs its own; else the answers under way free some, too.
        if !own && (pool.opening as usize >= MOST_OPENING || !pool.need.allows(used)) {
            self.record.counts.connects_held_back += 1;
            return;
        }
        let Some(conn) = self.free.pop() else { return };
        if let Some(pool) = self.pool() {
            pool.opening += 1;
        }
        self.connect(ops, conn);
    }

    /// Connections of the pool, and those on their way.
    fn used(&self) -> u64 {
        (self.conns.len() - self.free.len()) as u64
    }

    /// Requests that want a connection.
    fn wanted(&mut self) -> u64 {
        let (left, draining) = (self.again.len() as u64, self.draining);
        left + self.pool().filter(|_| !draining).map_or(0, |pool| pool.dues.waiting())
    }

    /// A server left requests: idle connections take them over, or new ones do.
    pub(super) fn open_again<O: Ops>(&mut self, ops: &mut O) {
        for _ in 0..self.again.len() {
            match self.pool().and_then(|pool| pool.idle.pop()) {
                Some(conn) => self.serve_waiting(ops, conn, false),
                None => self.grow(ops),
            }
        }
    }

    /// Sends the oldest waiting request on a free connection, or keeps the connection.
    fn serve_waiting<O: Ops>(&mut self, ops: &mut O, conn: u32, blocked: bool) {
        let now = ops.now();
        if self.begin_again(now, conn) {
            self.conns[conn as usize].began_ns = now;
            return self.flush(ops, conn);
        }
        let waiting = if self.draining { None } else { self.pool().and_then(|pool| pool.dues.take_waiting()) };
        let Some(intended) = waiting else {
            if let Some(pool) = self.pool() {
                pool.idle.push(conn);
            }
            return;
        };
        if self.record.measuring {
            self.record.blocked.record_ns(if blocked { now.saturating_sub(intended) } else { 0 });
        }
        self.conns[conn as usize].began_ns = now;
        self.begin(now, conn, intended);
        self.flush(ops, conn);
    }

    /// A connection is up.
    pub(super) fn open_ready<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if let Some(pool) = self.pool() {
            pool.opening -= 1;
        }
        self.serve_waiting(ops, conn, true);
    }

    /// An answer came.
    pub(super) fn open_answered<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.task.new_connections {
            return self.ended(ops, conn);
        }
        let (now, used) = (ops.now(), self.used());
        let took_ns = now.saturating_sub(self.conns[conn as usize].began_ns);
        if let Some(pool) = self.pool() {
            let past = pool.need.answered(now, took_ns, used);
            self.record.counts.connects_past_need += past;
        }
        self.serve_waiting(ops, conn, true);
    }

    /// A connection ended: its number is free, and what waits may want one.
    pub(super) fn open_freed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.free.push(conn);
        self.grow(ops);
    }

    /// The server closed an idle connection: it is not to be used any more.
    pub(super) fn open_forget_idle(&mut self, conn: u32) {
        if let Some(pool) = self.pool() {
            pool.idle.retain(|&idle| idle != conn);
        }
    }

    /// A connect (`established` false) or a connection failed: it tries again after a pause if something waits.
    pub(super) fn open_lost<O: Ops>(&mut self, ops: &O, conn: u32, established: bool, pause_ns: u64) {
        let wanted = self.wanted();
        let Some(pool) = self.pool() else { return };
        pool.opening -= u64::from(!established);
        if wanted > pool.opening {
            pool.opening += 1;
            self.wait(ops, conn, pause_ns);
        } else {
            self.free.push(conn);
        }
    }

    /// What was put off until this pass: the connection is free for a request.
    pub(super) fn open_think_over<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.conns[conn as usize].state = State::Idle;
        self.serve_waiting(ops, conn, true);
    }
}
