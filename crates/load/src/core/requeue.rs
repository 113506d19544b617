//! Requests that a server left unprocessed when it closed their connection (HTTP/2: beyond the last stream of its
//! GOAWAY). They had no effect there, so they are safe to retry. The next connection with room takes them, oldest first
//! and before any new request, also in the drain. Each keeps its intended start, so its response time includes the
//! delay, and counts as sent once.

use super::in_flight::{InFlightRequest, Requeued};
use super::{Core, Mode};
use crate::driver::{Ops, Start};

impl Core {
    /// Starts the oldest requeued request on a connection. Returns false if there is none or no room for it.
    #[inline]
    pub(super) fn start_requeued(&mut self, now: u64, conn: u32) -> bool {
        let Some(&Requeued { begun, sent }) = self.requeued.front() else { return false };
        let start = Start { sent_ns: now, ..begun.start };
        let begins = self.put(now, conn, InFlightRequest { start, ..begun }, !sent);
        if begins {
            self.requeued.pop_front();
        }
        begins
    }

    /// Retries up to `most` requeued requests on a closed-loop connection in the drain, when nothing new is started.
    pub(super) fn start_all_requeued<O: Ops>(&mut self, ops: &mut O, conn: u32, most: u32) {
        if self.requeued.is_empty() || !self.sessions.session(conn as usize).takes_more() {
            return;
        }
        let now = ops.now();
        (0..most).take_while(|_| self.start_requeued(now, conn)).count();
        self.flush(ops, conn);
    }

    /// Retries requests in an open loop without waiting for the old connection to end.
    #[inline]
    pub(super) fn take_over<O: Ops>(&mut self, ops: &mut O) {
        if !self.requeued.is_empty() && matches!(self.mode, Mode::Open(_)) {
            self.open_requeued(ops);
        }
    }
}
