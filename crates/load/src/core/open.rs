//! The open loop: requests start when they are due, whatever the server does. A due request takes an idle connection,
//! or waits for one while the pool grows. If the pool cannot grow, the request is sent on a busy connection whose
//! pipeline is not full. The generator does not skip a request because the server is slow. A request that never gets a
//! connection counts as due but not as sent.

use super::due_clock::MAX_DUE_PER_PASS;
use super::pool::Pool;
use super::{Core, Mode, State};
use crate::driver::Ops;

/// Maximum number of connections that a pool may be opening at the same time. After the generator has paused for a few
/// milliseconds, hundreds of requests may wait. Opening all their connections at once would take longer than the pause,
/// and so cause the next pause.
const MAX_OPENING: usize = 128;

impl Core {
    fn pool(&mut self) -> Option<&mut Pool> {
        match &mut self.mode {
            Mode::Open(pool) => Some(pool),
            _ => None,
        }
    }

    /// Starts all requests that are due. Due requests that fit on one connection are sent together, as in a closed loop
    /// with the same pipeline.
    pub(super) fn open_due<O: Ops>(&mut self, ops: &mut O) {
        let now = ops.now();
        let mut started = 0;
        while started < MAX_DUE_PER_PASS {
            let due = self.take_due(now);
            if due == 0 {
                return;
            }
            started += due;
            let Some(pool) = self.pool() else { return };
            let no_other_waits = pool.dues.waiting() == u64::from(due);
            let idle = if no_other_waits { pool.idle.pop() } else { None };
            match idle {
                Some(conn) => self.serve_waiting(ops, conn, false),
                None => (0..due).for_each(|_| self.grow_or_join(ops)),
            }
        }
    }

    /// Takes the requests that are due, but at most as many as fit on one connection. Returns the number of taken
    /// requests.
    #[inline]
    fn take_due(&mut self, now: u64) -> u32 {
        let depth = u32::try_from(self.depth).unwrap_or(u32::MAX).max(1);
        for taken in 0..depth {
            let Some(pool) = self.pool() else { return taken };
            let Some(due) = pool.dues.take_due(now) else { return taken };
            pool.demand.arrived();
            self.record.counts.due += 1;
            if self.record.measuring {
                self.record.start_error.record_ns(now.saturating_sub(due));
            }
        }
        depth
    }

    /// Starts all recorded requests that are due by the end of the measured window. Without this function, a late
    /// generator thread would not send the last recorded requests.
    pub(super) fn start_recorded<O: Ops>(&mut self, ops: &mut O) {
        let now = ops.now();
        while self.pool().is_some_and(|pool| pool.dues.is_recorded() && pool.dues.next_ns() <= now) {
            self.open_due(ops);
        }
    }

    /// Opens a connection for a waiting request, if possible. If no connection can be opened, sends the request on a
    /// busy connection whose pipeline is not full.
    pub(super) fn grow_or_join<O: Ops>(&mut self, ops: &mut O) {
        if !self.grow(ops)
            && let Some(conn) = self.next_with_room()
        {
            self.serve_waiting(ops, conn, false);
        }
    }

    /// Returns the first listed busy connection that can take another request. Returns `None` if no busy connection can
    /// take another request.
    fn next_with_room(&mut self) -> Option<u32> {
        loop {
            let conn = self.pool()?.with_room.pop_front()?;
            let c = &mut self.conns[conn as usize];
            c.listed = false;
            // The connection may have become full, idle or closed after it was added to the list of busy connections.
            if c.state == State::Busy && self.has_room(conn) {
                return Some(conn);
            }
        }
    }

    /// Returns true if a connection can take another request.
    fn has_room(&mut self, conn: u32) -> bool {
        let in_flight = self.conns[conn as usize].in_flight as usize;
        in_flight == 0 || in_flight < self.depth && self.sessions.session(conn as usize).takes_more()
    }

    /// Opens a connection if more requests wait than connections are being opened, and if the pool may grow. Returns
    /// false if no connection will become ready for a waiting request.
    fn grow<O: Ops>(&mut self, ops: &mut O) -> bool {
        let (own, used) = (self.task.new_connections, self.used());
        let full = used >= u64::from(self.task.connections());
        let wanted = self.wanted();
        let Some(pool) = self.pool() else { return false };
        if wanted <= pool.opening {
            return true;
        }
        if full {
            return false;
        }
        // If connections are not reused, each request needs a new connection. If connections are reused, answers also
        // free connections, so the growth of the pool is limited.
        if !own && (pool.opening as usize >= MAX_OPENING || !pool.demand.allows(used)) {
            self.record.counts.connects_held_back += 1;
            return false;
        }
        let Some(conn) = self.take_number(ops) else { return false };
        if let Some(pool) = self.pool() {
            pool.opening += 1;
        }
        self.connect(ops, conn);
        true
    }

    /// Returns the number of connections in the pool, both established and being opened.
    fn used(&self) -> u64 {
        (self.conns.len() - self.free.len() - self.closing.len()) as u64
    }

    /// Returns the number of requests that wait for a connection.
    fn wanted(&mut self) -> u64 {
        let (left, draining) = (self.requeued.len() as u64, self.draining);
        let waiting = |pool: &mut Pool| if draining { pool.dues.recorded_waiting() } else { pool.dues.waiting() };
        left + self.pool().map_or(0, waiting)
    }

    /// Gives idle or new connections to the requests that must be sent again.
    pub(super) fn open_requeued<O: Ops>(&mut self, ops: &mut O) {
        for _ in 0..self.requeued.len() {
            match self.pool().and_then(|pool| pool.idle.pop()) {
                Some(conn) => self.serve_waiting(ops, conn, false),
                None => self.grow_or_join(ops),
            }
        }
    }

    /// Sends waiting requests on a connection until its pipeline is full, the oldest first. `blocked` is true if the
    /// requests have been waiting for a connection. A connection without any request in flight becomes idle.
    fn serve_waiting<O: Ops>(&mut self, ops: &mut O, conn: u32, blocked: bool) {
        let now = ops.now();
        let mut started = false;
        while self.has_room(conn) && self.start_waiting(now, conn, blocked) {
            started = true;
        }
        self.list(conn);
        if started {
            self.conns[conn as usize].began_ns = now;
            self.flush(ops, conn);
        }
    }

    /// Starts the oldest waiting request on a connection whose pipeline is not full. Returns false if no waiting
    /// request may start.
    fn start_waiting(&mut self, now: u64, conn: u32, blocked: bool) -> bool {
        if self.start_requeued(now, conn) {
            return true;
        }
        let draining = self.draining;
        let starts = |pool: &&mut Pool| !draining || pool.dues.is_recorded();
        let waiting = self.pool().filter(starts).and_then(|pool| pool.dues.take_waiting());
        let Some(intended) = waiting else { return false };
        if self.record.measuring {
            let hist = if blocked { &mut self.record.blocked } else { &mut self.record.on_time };
            hist.record_ns(now.saturating_sub(intended));
        }
        self.begin(now, conn, intended);
        true
    }

    /// Adds a connection to the list of idle connections, or to the list of busy connections whose pipeline is not
    /// full.
    fn list(&mut self, conn: u32) {
        let (c, depth) = (&mut self.conns[conn as usize], self.depth);
        let Mode::Open(pool) = &mut self.mode else { return };
        if c.in_flight == 0 {
            pool.idle.push(conn);
        } else if (c.in_flight as usize) < depth && !std::mem::replace(&mut c.listed, true) {
            pool.with_room.push_back(conn);
        }
    }

    /// Starts waiting requests on a connection whose handshake begins, if they may be sent as early data. A connection
    /// that starts a request as early data no longer counts as a connection that a waiting request can use.
    pub(super) fn open_start_early(&mut self, now: u64, conn: u32) {
        let mut started = false;
        while self.has_room(conn) && self.may_next_be_early(conn) && self.start_waiting(now, conn, true) {
            started = true;
        }
        if let Some(pool) = self.pool().filter(|_| started) {
            pool.opening -= 1;
        }
    }

    /// Sends waiting requests on a connection that has become ready after early data.
    pub(super) fn open_serve_waiting<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.serve_waiting(ops, conn, true);
    }

    /// Handles a connection that has become ready for requests.
    pub(super) fn open_ready<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if let Some(pool) = self.pool() {
            pool.opening -= 1;
        }
        self.serve_waiting(ops, conn, true);
    }

    /// Handles answers on a connection.
    pub(super) fn open_answered<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.task.new_connections {
            return self.end_only_request(ops, conn);
        }
        self.serve_waiting(ops, conn, true);
    }

    /// Adds the time of an answer to the estimate of how many connections the pool needs. The connection may end with
    /// this answer. Does nothing if each request opens its own connection, because only the maximum then limits the
    /// pool.
    #[inline]
    pub(super) fn open_measured(&mut self, now: u64, conn: u32) {
        if self.task.new_connections || !matches!(self.mode, Mode::Open(_)) {
            return;
        }
        let (used, took_ns) = (self.used(), now.saturating_sub(self.conns[conn as usize].began_ns));
        if let Some(pool) = self.pool() {
            let past = pool.demand.answered(now, took_ns, used);
            self.record.counts.connects_past_need += past;
        }
    }

    /// Handles a connection that has ended. The number of the ended connection becomes free for a waiting request.
    pub(super) fn open_freed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.free.push(conn);
        self.grow_or_join(ops);
    }

    /// Removes a connection that has ended from the list of idle connections.
    pub(super) fn open_forget_idle(&mut self, conn: u32) {
        if let Some(pool) = self.pool() {
            pool.idle.retain(|&idle| idle != conn);
        }
    }

    /// Handles a failed connect (`established` is false) or a connection that failed. If requests wait for a
    /// connection, another connect follows after a pause.
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

    /// Continues with a connection that could not take a request before the next pass of the event loop.
    pub(super) fn open_think_over<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.conns[conn as usize].state = State::Idle;
        self.serve_waiting(ops, conn, true);
    }
}
