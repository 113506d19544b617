//! Connections whose sessions read datagrams and have timers of their own (QUIC). Each connection has one more timer,
//! for its session. Sessions of other protocols have no timers, so the only cost for them is a test for `None`.

use super::{Core, MAX_TIMERS_PER_PASS, State};
use crate::driver::Ops;

impl Core {
    /// Handles received datagrams of a connection.
    pub(super) fn datagrams<O: Ops>(&mut self, ops: &mut O, conn: u32, bytes: &[u8], datagram_bytes: usize) {
        self.tick(ops, conn);
        self.sessions.session(conn as usize).expect_datagrams(datagram_bytes);
        self.received(ops, conn, bytes);
        self.count_early_data(conn);
        self.flush_unasked(ops, conn);
        self.arm_session(conn);
    }

    /// Passes the current time to a session, before the session sends or receives.
    #[inline]
    pub(super) fn tick<O: Ops>(&mut self, ops: &O, conn: u32) {
        if self.session_timers.is_some() {
            self.sessions.session(conn as usize).tick(ops.now());
        }
    }

    /// Sets the timer of a session, after it has sent or received.
    #[inline]
    pub(super) fn arm_session(&mut self, conn: u32) {
        if let Some(timers) = &mut self.session_timers {
            let due_ns = self.sessions.session(conn as usize).due_ns().unwrap_or(u64::MAX);
            if timers.deadline_ns(conn).is_none_or(|set| set > due_ns) {
                timers.set(conn, due_ns);
            }
        }
    }

    /// Returns the time of the earliest timer of a session, or `u64::MAX` if none is set.
    pub(super) fn next_session_timer_ns(&self) -> u64 {
        self.session_timers.as_ref().map_or(u64::MAX, crate::timers::Timers::next)
    }

    /// Handles the timers of sessions that are due.
    pub(super) fn fire_session_timers<O: Ops>(&mut self, ops: &mut O) {
        for _ in 0..MAX_TIMERS_PER_PASS {
            let due = self.session_timers.as_mut().and_then(|timers| timers.pop_due(ops.now()));
            let Some(conn) = due else { return };
            let talks = !matches!(self.conns[conn as usize].state, State::Free | State::Waiting | State::Connecting);
            let session_due_ns = self.sessions.session(conn as usize).due_ns();
            if talks && session_due_ns.is_some_and(|due_ns| due_ns <= ops.now()) {
                self.session_timer(ops, conn);
            } else if talks {
                // The session's timer was moved to a later time after this entry was made.
                self.arm_session(conn);
            }
        }
    }

    /// Handles a timer of a session. The session may send lost data again, or may find that its connection has ended.
    fn session_timer<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let heard = self.conns[conn as usize].heard;
        self.tick(ops, conn);
        self.received(ops, conn, &[]);
        // The expired timer brought no data, so the flag `heard` must stay as it was.
        self.conns[conn as usize].heard = heard;
        self.flush_unasked(ops, conn);
        self.arm_session(conn);
    }

    /// Tells the server that a connection ends, if the connection's session reads datagrams: the kernel sends no FIN
    /// for datagrams.
    pub(super) fn say_goodbye<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.session_timers.is_some() {
            self.tick(ops, conn);
            let session = self.sessions.session(conn as usize);
            if let Some(path) = session.quic_path() {
                self.record.quic.get_or_insert_default().merge(path);
            }
            session.leave();
            self.farewell(ops, conn);
        }
    }
}
