//! The beginning of a connection (connecting, handshake, ready for requests), and its timer.

use run::ErrorKind;

use super::{Core, Mode, State};
use crate::driver::Ops;

impl Core {
    /// Starts a connect on a connection index that is free or waiting.
    pub(super) fn connect<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.attempt(ops.now(), conn);
        self.aim(ops, conn);
        match ops.connect(conn) {
            Ok(()) => self.connecting(ops.now(), conn),
            Err(errno) => self.connect_failed(ops, conn, errno),
        }
    }

    /// Gives up a connect, and at once starts a new connect with the same connection index.
    pub(super) fn reconnect<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.turns.count() > 1 {
            // The next address may have another family (IPv4 or IPv6), so the socket cannot be used again.
            ops.close(conn);
            return self.connect(ops, conn);
        }
        self.attempt(ops.now(), conn);
        match ops.reconnect(conn) {
            Ok(()) => self.connecting(ops.now(), conn),
            Err(errno) => self.connect_failed(ops, conn, errno),
        }
    }

    /// Counts a connect. In a closed loop, also stores the start of the connect, which may be the intended start of a
    /// request.
    fn attempt(&mut self, now: u64, conn: u32) {
        self.record.counts.attempted += 1;
        if matches!(self.mode, Mode::Closed { .. }) {
            self.conns[conn as usize].intended_ns = now;
        }
    }

    /// If the server has several addresses, chooses the address for the next connect.
    fn aim<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if let Some(address) = self.turns.next() {
            self.conns[conn as usize].address = address;
            ops.aim(conn, u32::from(address));
            self.sessions.session(conn as usize).aim(address);
        }
    }

    fn connecting(&mut self, now: u64, conn: u32) {
        let timeout = match &self.mode {
            Mode::SClients(d) => d.timeout_ns(),
            _ => self.task.connect_timeout_ns,
        };
        let c = &mut self.conns[conn as usize];
        (c.state, c.began_ns) = (State::Connecting, now);
        (c.in_flight, c.unsent) = (0, 0);
        (c.pending, c.heard, c.made) = (false, false, 0);
        self.sessions.session(conn as usize).reset();
        self.requests.clear(conn);
        self.arm(conn, now.saturating_add(timeout));
    }

    /// Sets the timer of a connection to the time `at_ns`. If the heap has an earlier entry for this connection, the
    /// entry stays, and is checked when its time comes.
    #[inline]
    pub(super) fn arm(&mut self, conn: u32, at_ns: u64) {
        self.conns[conn as usize].deadline_ns = at_ns;
        if self.timers.deadline_ns(conn).is_none_or(|set| set > at_ns) {
            self.timers.set(conn, at_ns);
        }
    }

    /// Handles an expired entry of connection `conn` in the heap of timers. If the connection's own deadline is later,
    /// sets the timer again.
    pub(super) fn fire<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let c = self.conns[conn as usize];
        if c.deadline_ns > ops.now() {
            if c.deadline_ns != u64::MAX {
                self.timers.set(conn, c.deadline_ns);
            }
            return;
        }
        match c.state {
            State::Connecting => self.connect_timed_out(ops, conn),
            State::Handshaking => self.lost(ops, conn, ErrorKind::ConnectTimeout),
            State::Busy => self.lost(ops, conn, ErrorKind::ResponseTimeout),
            State::Thinking => self.think_over(ops, conn),
            State::Waiting => self.connect(ops, conn),
            State::Closing => self.close_left_to_client(ops, conn),
            State::Free | State::Idle => {}
        }
    }

    fn connect_timed_out<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.record.counts.fail(ErrorKind::ConnectTimeout, 1);
        self.connect_lost(ops.now(), conn);
        if matches!(self.mode, Mode::SClients(_)) {
            return self.sclients_timed_out(ops, conn);
        }
        ops.close(conn);
        self.retry_later(ops, conn, false, None);
    }

    /// Handles a successful connect.
    pub(super) fn connected<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let now = ops.now();
        self.open += 1;
        // A connect over UDP sends no packet, so it always succeeds. Only the handshake shows that the server is there.
        if !self.sessions.session(conn as usize).is_timed() {
            self.established(now, conn);
        }
        let c = &mut self.conns[conn as usize];
        (c.state, c.deadline_ns) = (State::Idle, u64::MAX);
        if self.record.measuring {
            self.record.connect.record_ns(now.saturating_sub(c.began_ns));
        }
        if matches!(self.mode, Mode::SClients(_)) {
            self.sclients_up(ops);
        }
        if self.sessions.session(conn as usize).ready() {
            return self.ready(ops, conn, 0);
        }
        let c = &mut self.conns[conn as usize];
        (c.state, c.began_ns) = (State::Handshaking, now);
        if !self.early_items.is_empty() {
            self.start_early(ops, conn);
        }
        self.arm(conn, now.saturating_add(self.task.connect_timeout_ns));
        self.flush(ops, conn);
    }

    /// Counts an established connection.
    fn established(&mut self, now: u64, conn: u32) {
        self.record.connected(now, self.open);
        self.record.addresses.connected(self.conns[conn as usize].address);
    }

    /// Handles received bytes of the protocol's handshake. Without early data, the client's last handshake bytes are
    /// sent before its first request. No send therefore contains bytes of both the handshake and a request.
    pub(super) fn handshaking<O: Ops>(&mut self, ops: &mut O, conn: u32, bytes: &[u8]) {
        let counts = &mut self.record.counts;
        counts.handshake_bytes_received += bytes.len() as u64;
        // Only requests sent as early data can end here: their answers may arrive together with the end of the
        // handshake.
        let (heard, answered) = self
            .record_completions(ops.now(), conn, |session, sink| session.receive(bytes, &mut |done| sink.done(done)));
        self.conns[conn as usize].state = State::Handshaking;
        self.mark_begun_answers(ops.now(), conn);
        let session = self.sessions.session(conn as usize);
        match heard {
            Ok(progress) if !progress.close => {}
            heard => {
                let reason = || session.explain().or_else(|| heard.err().map(|fault| fault.to_string()));
                self.record.keep_reason(ops.now(), ErrorKind::HandshakeFailed, reason);
                self.farewell(ops, conn);
                return self.lost(ops, conn, ErrorKind::HandshakeFailed);
            }
        }
        let ready = session.ready();
        self.flush(ops, conn);
        let c = &mut self.conns[conn as usize];
        if !ready || c.state != State::Handshaking {
            return;
        }
        (c.state, c.deadline_ns) = (State::Idle, u64::MAX);
        if c.in_flight > 0 {
            c.state = State::Busy;
            self.arm(conn, ops.now().saturating_add(self.task.timeout_ns));
        }
        if self.sessions.session(conn as usize).is_timed() {
            self.established(ops.now(), conn);
        }
        let (resumed, limit) =
            (self.sessions.session(conn as usize).resumed(), self.sessions.session(conn as usize).stream_limit());
        self.record.stream_limit = self.record.stream_limit.into_iter().chain(limit).min();
        self.record.counts.handshakes += 1;
        self.record.counts.handshakes_resumed += u64::from(resumed);
        let record = &mut self.record;
        let hist = if resumed { &mut record.handshake_resumed } else { &mut record.handshake };
        if let Some(hist) = hist.as_mut().filter(|_| record.measuring) {
            hist.record_ns(ops.now().saturating_sub(self.conns[conn as usize].began_ns));
        }
        self.ready(ops, conn, answered);
    }

    /// Handles a connection that has become ready for requests. `answered` requests in the connection's early data have
    /// ended already.
    fn ready<O: Ops>(&mut self, ops: &mut O, conn: u32, answered: u32) {
        let c = &mut self.conns[conn as usize];
        c.quiet_ns = ops.now();
        match &self.mode {
            _ if c.made > 0 => return self.ready_after_early(ops, conn, answered),
            Mode::Closed { .. } => self.closed_up(ops, conn),
            Mode::Open(_) => self.open_ready(ops, conn),
            Mode::SClients(_) => self.sclients_ready(ops, conn),
            Mode::Handling => {}
        }
        self.flush_unasked(ops, conn);
    }

    /// Waits for `ns` nanoseconds, then connects.
    pub(super) fn wait<O: Ops>(&mut self, ops: &O, conn: u32, ns: u64) {
        self.conns[conn as usize].state = State::Waiting;
        self.arm(conn, ops.now().saturating_add(ns));
    }

    /// Gives up all connects in progress, and all waits before a connect. If requests still have to be sent again, the
    /// connects in progress and the waits go on.
    pub(super) fn stop_connecting<O: Ops>(&mut self, ops: &mut O) {
        let stays = self.has_rest();
        for conn in 0..self.conns.len() as u32 {
            match self.conns[conn as usize].state {
                State::Connecting | State::Handshaking | State::Waiting if stays => continue,
                State::Handshaking if self.conns[conn as usize].in_flight > 0 => continue,
                State::Connecting => ops.close(conn),
                State::Handshaking => {
                    self.say_goodbye(ops, conn);
                    ops.close(conn);
                    self.open -= 1;
                }
                State::Waiting => {}
                State::Thinking => {
                    self.conns[conn as usize].deadline_ns = u64::MAX;
                    continue;
                }
                _ => continue,
            }
            let c = &mut self.conns[conn as usize];
            (c.state, c.deadline_ns) = (State::Free, u64::MAX);
        }
    }
}
