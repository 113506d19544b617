//! Life of a connection in a readiness model: opening, turns, waiting for a worker slot, and closing.

use std::cmp::Reverse;
use std::os::fd::OwnedFd;

use super::{Conn, Turn, Want};
use super::{Readiness, Worker};
use crate::connection::End;
use crate::strategies::LimitHit;

impl<R: Readiness> Worker<R> {
    /// Handles a new connection: refuses it, or watches its socket. If no worker slot is free, the connection also
    /// joins the queue for slots.
    pub(super) fn open(&mut self, fd: OwnedFd) {
        let waits = match self.shard.admit() {
            Ok(waits) => waits,
            Err(how) => return self.shard.refuse(Some(&fd), how),
        };
        let token = self.conns.insert(Conn::new(fd, self.shard.begin(waits || self.held)));
        let Some(conn) = self.conns.get(token) else { return };
        if waits {
            self.shard.wait_in_line(token, &mut conn.state.activity);
        }
        let first = conn.wants();
        conn.want = first;
        if self.poller.add(conn.fd(), token, first).is_err() {
            return self.close(token, End::Reset);
        }
        if R::TRY_NEW || (R::EDGE && first.write) {
            self.again.push(token);
        }
    }

    pub(super) fn turn(&mut self, token: u32, read: bool, gone: bool) {
        let now_ms = self.shard.now_ms();
        let mut turn = self.shard.setup.policy.read;
        turn.drain |= R::EDGE && gone;
        let Some(conn) = self.conns.get(token) else { return };
        if gone && !R::EDGE && conn.is_parked_and_broken() {
            return self.close(token, End::Reset);
        }
        let was_blocked = conn.blocked();
        let cell = &self.shard.setup.cell;
        let outcome = conn.turn(read || gone || R::EDGE, turn, &mut self.scratch, cell, now_ms);
        let blocked = conn.blocked();
        self.shard.watch_head(token, &mut conn.state.activity);
        if was_blocked != blocked {
            self.blocked = if blocked { self.blocked + 1 } else { self.blocked - 1 };
            self.hold_back();
        }
        match outcome {
            Turn::Close(end) => return self.close(token, end),
            Turn::Wait(want) => self.set_want(token, want),
            Turn::Again(want) => {
                self.set_want(token, want);
                if R::EDGE {
                    self.again.push(token);
                }
            }
        }
        if self.is_timed {
            // If output is due but was not sent, the connection waits for the socket or for the peer, and needs no
            // timer.
            let due_ns = self.conns.get(token).and_then(|conn| conn.state.due_ns());
            let due_ns = due_ns.filter(|due_ns| *due_ns > self.shard.now_ns);
            self.due.extend(due_ns.map(|due_ns| Reverse((due_ns, token))));
        }
        if self.conns.get(token).is_some_and(|conn| self.shard.gives_way(&conn.state.activity)) {
            self.park(token);
        }
    }

    fn set_want(&mut self, token: u32, want: Want) {
        let Some(conn) = self.conns.get(token) else { return };
        if conn.state.activity.lingering {
            self.shard.note_lingering();
        }
        if conn.want == want {
            return;
        }
        conn.want = want;
        if self.poller.change(conn.fd(), token, want).is_err() {
            self.close(token, End::Reset);
        }
    }

    fn close(&mut self, token: u32, end: End) {
        let Some(conn) = self.conns.remove(token) else { return };
        self.poller.remove(conn.fd(), token);
        if conn.blocked() {
            self.blocked -= 1;
            self.hold_back();
        }
        let (fd, connection) = conn.into_parts();
        // The end of the connection is counted before the socket is closed. The server's counts are therefore already
        // right when the peer notices the close.
        let frees_slot = self.shard.end(token, connection, end);
        drop(fd);
        if frees_slot {
            self.pass_slot_on();
        }
    }

    /// For the strategy `high-throughput`: gives a free worker slot to the next waiting connection.
    fn pass_slot_on(&mut self) {
        let Some(token) = self.shard.next_in_line() else { return };
        let now_ms = self.shard.now_ms();
        let Some(conn) = self.conns.get(token) else { return };
        conn.state.activity.take_slot(now_ms);
        self.again.push(token);
    }

    /// Moves a connection to the end of the queue for worker slots (strategy `high-throughput`). The next connection in
    /// the queue gets the worker slot.
    fn park(&mut self, token: u32) {
        let Some(conn) = self.conns.get(token) else { return };
        self.shard.wait_in_line(token, &mut conn.state.activity);
        let want = conn.wants();
        self.set_want(token, want);
        self.pass_slot_on();
    }

    /// For the strategy `limits`: if at least `sends` connections have waiting output, stops reading from all other
    /// connections. Resumes reading when fewer connections have waiting output.
    fn hold_back(&mut self) {
        let Some(limits) = self.shard.setup.policy.limits else { return };
        let over = self.blocked >= limits.sends;
        if over == self.held {
            return;
        }
        self.held = over;
        let affected = |c: &Conn| c.state.activity.parked != over && !c.blocked() && !c.state.activity.lingering;
        let held: Vec<u32> = self.conns.iter().filter(|(_, c)| affected(c)).map(|(token, _)| token).collect();
        let now_ms = self.shard.now_ms();
        for token in held {
            let Some(conn) = self.conns.get(token) else { continue };
            conn.state.activity.parked = over;
            if !over {
                conn.state.activity.read_again(now_ms);
                self.again.push(token);
            }
            let want = conn.wants();
            self.set_want(token, want);
        }
    }

    /// Checks the deadlines of all connections.
    pub(super) fn sweep(&mut self) {
        let overdue = self.shard.overdue(self.conns.iter().map(|(token, conn)| (token, &conn.state.activity)));
        for (token, why) in overdue.close {
            if let (Some(why), Some(conn)) = (why, self.conns.get(token)) {
                self.shard.close_at_limit(why, Some(conn.fd()));
            }
            self.close(token, End::Done);
        }
        for token in self.shard.take_heads() {
            let Some(conn) = self.conns.get(token) else { continue };
            if self.shard.head_is_late(token, &mut conn.state.activity) {
                self.shard.close_at_limit(LimitHit::SlowHead, Some(conn.fd()));
                conn.state.head_is_late();
                self.turn(token, false, false);
            }
        }
        for token in overdue.idle {
            if self.shard.any_waits() {
                self.park(token);
            }
        }
    }
}
