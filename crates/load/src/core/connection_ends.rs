//! The end of a connection: it failed, or it was closed by either side.

use run::ErrorKind;
use sys::Errno;

use super::{Core, Mode, State};
use crate::driver::{Op, Ops};

/// Delay before a retry after the first failure, nanoseconds. Each further failure doubles the delay.
const BACKOFF_NS: u64 = 1_000_000;
/// Maximum number of times that the delay before a retry is doubled. The longest delay before a retry is thus about one
/// second.
const BACKOFF_DOUBLINGS: u8 = 10;

impl Core {
    /// Handles a failed operation on a connection.
    pub(super) fn failed<O: Ops>(&mut self, ops: &mut O, conn: u32, op: Op, errno: Errno) {
        if op == Op::Connect {
            ops.close(conn);
            return self.connect_failed(ops, conn, errno);
        }
        match self.conns[conn as usize].state {
            State::Closing => self.closed_as_announced(ops, conn),
            State::Idle | State::Thinking => self.closed_while_idle(ops, conn),
            State::Handshaking if errno == Errno::CONNREFUSED => {
                self.lost(ops, conn, ErrorKind::ConnectRefused);
            }
            _ => self.lost(ops, conn, kind_of(errno)),
        }
    }

    /// In a closed loop, records a failed connect as a request without an answer, because each connect belongs to one
    /// client. The failed connect also counts as a failed request.
    pub(super) fn connect_lost(&mut self, now: u64, conn: u32) {
        if matches!(self.mode, Mode::Closed { .. }) {
            self.record.never_answered(now, self.conns[conn as usize].intended_ns);
        }
    }

    pub(super) fn connect_failed<O: Ops>(&mut self, ops: &mut O, conn: u32, errno: Errno) {
        let kind = match errno {
            // If the accept queue of a Unix socket is full, connect fails at once with EAGAIN.
            Errno::CONNREFUSED | Errno::AGAIN => ErrorKind::ConnectRefused,
            Errno::TIMEDOUT => ErrorKind::ConnectTimeout,
            Errno::ADDRNOTAVAIL => ErrorKind::ClientPorts,
            Errno::MFILE | Errno::NFILE => ErrorKind::ClientFds,
            Errno::CONNRESET => ErrorKind::Reset,
            _ => ErrorKind::ConnectFailed,
        };
        self.ports_ran_out |= kind == ErrorKind::ClientPorts;
        self.fds_ran_out |= kind == ErrorKind::ClientFds;
        self.record.counts.fail(kind, 1);
        self.connect_lost(ops.now(), conn);
        if matches!(self.mode, Mode::SClients(_)) {
            return self.sclients_failed(ops, conn);
        }
        self.retry_later(ops, conn, false, None);
    }

    /// Handles an idle connection that the server closed.
    pub(super) fn closed_while_idle<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.server_ended(ops.now(), conn);
        let idle_ns = ops.now().saturating_sub(self.conns[conn as usize].quiet_ns);
        self.record.closed_while_idle(idle_ns, self.conns[conn as usize].made);
        let due_ns = self.think_end(conn);
        self.open_forget_idle(conn);
        self.ended_thinking(ops, conn, due_ns);
    }

    /// Records that the server has ended a connection.
    pub(super) fn server_ended(&mut self, now: u64, conn: u32) {
        let c = &self.conns[conn as usize];
        let idle_ns = if c.state == State::Busy { c.idle_ns } else { now.saturating_sub(c.quiet_ns) };
        self.record.server_ended(now, idle_ns, self.open);
    }

    /// Returns the end of a client's current think time in a closed loop. Returns `None` if no think time is in
    /// progress. A think time goes on even if the client's connection ends.
    pub(super) fn think_end(&self, conn: u32) -> Option<u64> {
        let c = &self.conns[conn as usize];
        let thinks = matches!(self.mode, Mode::Closed { .. }) && c.state == State::Thinking && c.deadline_ns < u64::MAX;
        thinks.then_some(c.deadline_ns)
    }

    /// Handles the loss of a connection. The requests in flight on this connection count as failed. After a keep-alive
    /// race (the server closed an idle connection just when a request was sent), the requests may be sent again.
    pub(super) fn lost<O: Ops>(&mut self, ops: &mut O, conn: u32, kind: ErrorKind) {
        let established = self.conns[conn as usize].state != State::Handshaking;
        if established && matches!(kind, ErrorKind::Reset | ErrorKind::ShortResponse) {
            self.server_ended(ops.now(), conn);
            self.lost_after_answers(conn);
        }
        if self.is_keep_alive_race(ops, conn, kind) {
            return self.raced(ops, conn, kind, self.unproven_answers(conn));
        }
        let c = self.conns[conn as usize];
        let due_ns = match c.state {
            State::Busy => Some(ops.now().saturating_add(self.pause())),
            _ => self.think_end(conn),
        };
        let is_of_connect = matches!(kind, ErrorKind::ConnectTimeout | ErrorKind::ConnectRefused);
        let kind = if established || is_of_connect { kind } else { ErrorKind::HandshakeFailed };
        if c.state == State::Idle {
            self.open_forget_idle(conn);
        }
        let cut = u64::from(self.is_cut(conn, kind));
        let session = self.sessions.session(conn as usize);
        let counted_kind = match kind {
            ErrorKind::Reset | ErrorKind::ShortResponse if session.asks_to_come_later() => ErrorKind::TryAgainLater,
            kind => kind,
        };
        let told_kind = if cut > 0 { ErrorKind::CutResponse } else { counted_kind };
        self.record.keep_reason(ops.now(), told_kind, || session.close_words());
        // Each request that fails on an established connection counts as a failure; there may be no such request. A
        // failed handshake counts as one failure.
        let had_early_data = !established && c.made > 0;
        let failed = if established {
            self.fail_first(ops, conn, kind)
        } else if had_early_data {
            self.handshake_lost_early(ops.now(), conn);
            1
        } else {
            self.connect_lost(ops.now(), conn);
            1
        };
        let counts = &mut self.record.counts;
        counts.fail(ErrorKind::CutResponse, cut);
        counts.fail(counted_kind, failed - cut);
        counts.phantom += u64::from(kind == ErrorKind::ResponseTimeout && !c.heard);
        self.forget_requests(ops.now(), conn);
        self.close(ops, conn);
        self.retry_later(ops, conn, established || had_early_data, due_ns);
        // A request that was sent as early data waits for the new connect of `retry_later`. On another connection, the
        // handshake may fail in the same way.
        if !had_early_data {
            self.take_over(ops);
        }
    }

    /// Counts the answers that a connection gave before it was lost. Counts the answers only if requests are in flight
    /// and no byte of their answers has arrived.
    pub(super) fn lost_after_answers(&mut self, conn: u32) {
        let c = &self.conns[conn as usize];
        let answers = c.made.saturating_sub(u64::from(c.in_flight));
        if c.in_flight > 0 && self.sessions.session(conn as usize).is_answering() == Some(false) {
            self.record.counts.lost_after(answers);
        }
    }

    /// Returns true if the connection ended in the middle of a response. A cut response belongs to the oldest request,
    /// and later requests have no response.
    fn is_cut(&mut self, conn: u32, kind: ErrorKind) -> bool {
        matches!(kind, ErrorKind::Reset | ErrorKind::ShortResponse)
            && self.conns[conn as usize].in_flight > 0
            && self.sessions.session(conn as usize).is_answering() == Some(true)
    }

    /// Handles a connection that ended without a failure.
    pub(super) fn ended<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.ended_thinking(ops, conn, None);
    }

    /// Handles a connection that ended without a failure, whose client may have a think time until `due_ns`.
    pub(super) fn ended_thinking<O: Ops>(&mut self, ops: &mut O, conn: u32, due_ns: Option<u64>) {
        self.close(ops, conn);
        self.conns[conn as usize].failures = 0;
        self.next_connection(ops, conn, due_ns);
    }

    /// Closes an established connection.
    fn close<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.say_goodbye(ops, conn);
        ops.close(conn);
        self.open -= 1;
        let c = &mut self.conns[conn as usize];
        (c.state, c.deadline_ns) = (State::Free, u64::MAX);
    }

    /// Replaces a connection that ended without a failure. If the connection's client has a think time, the new connect
    /// follows at `due_ns`.
    fn next_connection<O: Ops>(&mut self, ops: &mut O, conn: u32, due_ns: Option<u64>) {
        match &self.mode {
            _ if self.draining && !self.has_rest() || self.task.blocks.is_some() => {}
            Mode::Closed { .. } => self.closed_replace(ops, conn, due_ns),
            Mode::Open(_) => self.open_freed(ops, conn),
            Mode::SClients(_) => self.sclients_freed(ops, conn),
            Mode::Handling => {}
        }
    }

    /// Schedules a new connect after a failure. The delay prevents a storm of connects if the failure is permanent. A
    /// client with a think time also waits until `due_ns`.
    pub(super) fn retry_later<O: Ops>(&mut self, ops: &mut O, conn: u32, established: bool, due_ns: Option<u64>) {
        let c = &mut self.conns[conn as usize];
        (c.state, c.deadline_ns) = (State::Free, u64::MAX);
        c.failures = c.failures.saturating_add(1);
        let wait = BACKOFF_NS << (c.failures - 1).min(BACKOFF_DOUBLINGS);
        if self.draining || self.task.blocks.is_some() {
            return;
        }
        match &self.mode {
            Mode::Closed { .. } => {
                self.record.record_service();
                self.conns[conn as usize].is_awaited = true;
                let thinks = due_ns.map_or(0, |due| due.saturating_sub(ops.now()));
                self.wait(ops, conn, wait.max(thinks));
            }
            Mode::Open(_) => self.open_lost(ops, conn, established, wait),
            Mode::SClients(_) => self.sclients_freed(ops, conn),
            Mode::Handling => {}
        }
    }
}

/// Returns the kind of failure that an error on an established connection means.
fn kind_of(errno: Errno) -> ErrorKind {
    match errno {
        // A reset that follows a FIN of the server is reported as EPIPE, so the server has closed first. Source: Linux,
        // tcp_reset() in net/ipv4/tcp_input.c.
        Errno::PIPE => ErrorKind::ShortResponse,
        // If the server's port is closed, a UDP socket reports a refused connection.
        Errno::CONNRESET | Errno::CONNABORTED | Errno::CONNREFUSED => ErrorKind::Reset,
        Errno::TIMEDOUT => ErrorKind::ResponseTimeout,
        _ => ErrorKind::Other,
    }
}
