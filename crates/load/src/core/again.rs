//! Requests that a server had not looked at when it left their connection (HTTP/2: beyond the last stream of its GOAWAY).
//! Nothing came of them there, so they are safe to make again: whatever connection has room next takes them, the oldest
//! first and before any new one, in the drain as well. Each keeps its intended start, so that its response time holds what
//! the leaving cost, and counts as sent once.

use super::in_flight::{Again, Begun};
use super::{Core, Mode};
use crate::driver::{Ops, Start};

impl Core {
    /// Begins the oldest of them on a connection; whether there was one, and room for it.
    #[inline]
    pub(super) fn begin_again(&mut self, now: u64, conn: u32) -> bool {
        let Some(&Again { begun, sent }) = self.again.front() else { return false };
        let start = Start { sent_ns: now, ..begun.start };
        let begins = self.put(now, conn, Begun { start, ..begun }, !sent);
        if begins {
            self.again.pop_front();
        }
        begins
    }

    /// In the drain, where nothing new is asked for: makes up to so many of them on a connection of a closed loop.
    pub(super) fn ask_again<O: Ops>(&mut self, ops: &mut O, conn: u32, most: u32) {
        if self.again.is_empty() || !self.sessions.at(conn as usize).takes_more() {
            return;
        }
        let now = ops.now();
        (0..most).take_while(|_| self.begin_again(now, conn)).count();
        self.flush(ops, conn);
    }

    /// An open loop does not wait for the end of the connection that was left.
    #[inline]
    pub(super) fn take_over<O: Ops>(&mut self, ops: &mut O) {
        if !self.again.is_empty() && matches!(self.mode, Mode::Open(_)) {
            self.open_again(ops);
        }
    }
}
