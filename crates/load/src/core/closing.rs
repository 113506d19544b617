//! Connections whose end the server has announced (`Connection: close`, GOAWAY). Most servers close a connection at
//! once after they have announced its end, so the server's side has the connection in TIME_WAIT. The connection keeps
//! its index until the server's FIN arrives. Meanwhile, the client of this connection uses another connection with
//! another index, so no client waits for the end of an old connection.
//!
//! Some servers leave the close to the client. If the client must close, one of the server's workers stays occupied
//! until the client closes the connection. The first late FIN shows that the server leaves the close to the client.
//! After a late FIN, the generator closes connections itself. About once a second, the generator waits for one FIN, to
//! see whether the server now closes.

use super::fin_wait::Closer;
use super::{Core, Mode, State};
use crate::driver::Ops;

impl Core {
    /// Handles a connection whose end the server has announced. The client of this connection continues at once with
    /// another connection.
    pub(super) fn end_announced<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let (now, due_ns) = (ops.now(), self.think_end(conn));
        if self.session_timers.is_some() {
            // QUIC has no FIN, and no TIME_WAIT that a server could take over.
            return self.ended_thinking(ops, conn, due_ns);
        }
        let Some(wait_ns) = self.closing.patience_ns(now) else {
            self.close_first(ops, conn);
            return self.ended_thinking(ops, conn, due_ns);
        };
        self.keep_until_closed(ops, conn, wait_ns);
        self.continue_elsewhere(ops, due_ns);
    }

    /// Keeps a connection without requests, and its connection index, for at most `wait_ns` nanoseconds. If too many
    /// connections are kept, closes the oldest one.
    pub(super) fn keep_until_closed<O: Ops>(&mut self, ops: &mut O, conn: u32, wait_ns: u64) {
        if self.closing.len() >= self.closing.max
            && let Some(number) = self.close_oldest(ops)
        {
            self.give_back(ops, number);
        }
        self.open -= 1;
        self.conns[conn as usize].state = State::Closing;
        self.closing.waiting.push_back(conn);
        self.arm(conn, ops.now().saturating_add(wait_ns));
    }

    pub(super) fn continue_elsewhere<O: Ops>(&mut self, ops: &mut O, due_ns: Option<u64>) {
        match &self.mode {
            _ if self.draining && !self.has_rest() || self.task.blocks.is_some() => {}
            Mode::Closed { .. } => {
                if let Some(next) = self.take_number(ops) {
                    self.conns[next as usize].failures = 0;
                    self.closed_replace(ops, next, due_ns);
                }
            }
            Mode::Open(_) => self.grow_or_join(ops),
            Mode::SClients(_) | Mode::Handling => {}
        }
    }

    /// Returns a free connection index. If no index is free, the oldest connection that waits for its FIN is closed.
    pub(super) fn take_number<O: Ops>(&mut self, ops: &mut O) -> Option<u32> {
        self.free.pop().or_else(|| self.close_oldest(ops))
    }

    fn close_oldest<O: Ops>(&mut self, ops: &mut O) -> Option<u32> {
        let conn = self.closing.waiting.pop_front()?;
        if self.session_timers.is_none() {
            self.close_first(ops, conn);
        }
        self.release(ops, conn);
        Some(conn)
    }

    /// Sends the last bytes of a connection that the client, and not the server, closes first.
    fn close_first<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.record.counts.closes_left_to_client += 1;
        self.sessions.session(conn as usize).leave();
        self.farewell(ops, conn);
    }

    /// Handles the FIN or the reset of a connection that waits for its FIN.
    pub(super) fn closed_as_announced<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.farewell(ops, conn);
        if !self.closing.remove(conn) {
            return self.ended(ops, conn);
        }
        self.closing.closer = Closer::Server;
        self.release(ops, conn);
        self.give_back(ops, conn);
    }

    /// Handles a connection whose FIN did not come in time. A QUIC connection has waited for a session ticket, not for
    /// a FIN.
    pub(super) fn close_left_to_client<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if !self.closing.remove(conn) {
            return self.ended(ops, conn);
        }
        if self.session_timers.is_none() {
            self.closing.closer = Closer::client(ops.now());
            self.close_first(ops, conn);
        }
        self.release(ops, conn);
        self.give_back(ops, conn);
    }

    /// Handles received bytes of a connection that waits for its end. On a TCP connection that waits for its end, only
    /// the FIN matters. A QUIC connection waits for a session ticket, and ends when the ticket has come.
    pub(super) fn received_while_closing<O: Ops>(&mut self, ops: &mut O, conn: u32, bytes: &[u8]) {
        if self.session_timers.is_none() {
            return;
        }
        let session = self.sessions.session(conn as usize);
        let is_over = session.receive(bytes, &mut drop).is_err() || !session.awaits_ticket();
        self.farewell(ops, conn);
        if is_over && self.closing.remove(conn) {
            self.release(ops, conn);
            self.give_back(ops, conn);
        }
    }

    fn release<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.say_goodbye(ops, conn);
        ops.close(conn);
        let c = &mut self.conns[conn as usize];
        (c.state, c.deadline_ns) = (State::Free, u64::MAX);
    }

    /// Frees a connection index. With two-process S-Clients (sockets that connect again and again), does nothing in the
    /// process that handles the connections. In that process, the driver assigns the connection indexes.
    fn give_back<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match &self.mode {
            Mode::Handling => {}
            Mode::SClients(_) => self.sclients_freed(ops, conn),
            Mode::Closed { .. } | Mode::Open(_) => self.free.push(conn),
        }
    }
}
