//! The life of a request on an established connection: begun, sent, answered.

use proto::{Client, Fault, Progress, Session as _};
use run::ErrorKind;
use sys::Errno;

use super::{Core, Mode, State};
use crate::driver::{Op, Ops, Sent, Start};

impl<C: Client> Core<C> {
    /// Begins a request that was to start at `intended_ns`; [`Core::flush`] sends it.
    #[inline]
    pub(super) fn begin(&mut self, now: u64, conn: u32, intended_ns: u64) {
        let depth = self.depth;
        let c = &mut self.conns[conn as usize];
        let place = (c.oldest as usize + c.in_flight as usize) % depth;
        self.starts[conn as usize * depth + place] = Start { intended_ns, sent_ns: now };
        c.in_flight += 1;
        c.unsent += 1;
        c.state = State::Busy;
        self.in_flight += 1;
        self.sessions[conn as usize].begin();
        self.arm(conn, now.saturating_add(self.task.timeout_ns));
    }

    /// Sends what the session has to send.
    #[inline]
    pub(super) fn flush<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let session = &mut self.sessions[conn as usize];
        let c = &mut self.conns[conn as usize];
        while !c.pending && session.wants_transmit() {
            let mut bytes = 0;
            let sent = ops.send(conn, |out| {
                bytes = session.transmit(out);
                bytes
            });
            self.record.counts.bytes_sent += bytes as u64;
            match sent {
                Ok(Sent::All) => {}
                Ok(Sent::Pending) => c.pending = true,
                Err(errno) => return self.send_failed(ops, conn, errno),
            }
        }
        if !c.pending {
            self.record.counts.sent += u64::from(std::mem::take(&mut c.unsent));
            let progress = session.flushed();
            if progress != Progress::default() {
                self.done_by_sending(ops, conn, progress);
            }
        }
    }

    /// Sending alone completed something (discard). What follows is left to the next pass: going on at once would call
    /// itself for as long as the socket takes everything.
    fn done_by_sending<O: Ops>(&mut self, ops: &mut O, conn: u32, progress: Progress) {
        if progress.completed > 0 {
            self.complete(ops.now(), conn, &progress);
        }
        if progress.close {
            return self.closing(ops, conn);
        }
        if self.conns[conn as usize].in_flight == 0 && !self.draining {
            self.conns[conn as usize].state = State::Thinking;
            self.arm(conn, ops.now());
        }
    }

    /// A reset that answers a send may still be followed by the bytes that came before it; the connection is lost anyway.
    fn send_failed<O: Ops>(&mut self, ops: &mut O, conn: u32, errno: Errno) {
        self.failed(ops, conn, Op::Send, errno);
    }

    /// What waited in the driver has left.
    pub(super) fn writable<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.conns[conn as usize].pending = false;
        self.flush(ops, conn);
        if matches!(self.mode, Mode::SClients(_)) {
            self.sclients_hand_over(ops, conn);
        }
    }

    /// Bytes came.
    #[inline]
    pub(super) fn received<O: Ops>(&mut self, ops: &mut O, conn: u32, bytes: &[u8]) {
        self.record.counts.bytes_received += bytes.len() as u64;
        let c = &mut self.conns[conn as usize];
        c.heard = true;
        if c.state == State::Closing {
            return;
        }
        match self.sessions[conn as usize].receive(bytes) {
            Ok(progress) => self.progressed(ops, conn, progress),
            Err(fault) => self.faulted(ops, conn, fault),
        }
    }

    /// The peer will send nothing more.
    pub(super) fn peer_closed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.conns[conn as usize].state {
            State::Closing => return self.ended(ops, conn),
            State::Idle | State::Thinking => return self.closed_while_idle(ops, conn),
            _ => {}
        }
        match self.sessions[conn as usize].peer_closed() {
            Ok(progress) => self.progressed_at_end(ops, conn, progress),
            Err(fault) => self.faulted(ops, conn, fault),
        }
    }

    fn faulted<O: Ops>(&mut self, ops: &mut O, conn: u32, fault: Fault) {
        let kind = match fault {
            Fault::Malformed(_) | Fault::Limit(_) => ErrorKind::Malformed,
            Fault::WrongBody(_) => ErrorKind::WrongBody,
            Fault::Short => ErrorKind::ShortResponse,
        };
        self.lost(ops, conn, kind);
    }

    /// The session made progress on a connection that lives.
    #[inline]
    fn progressed<O: Ops>(&mut self, ops: &mut O, conn: u32, progress: Progress) {
        if progress.completed > 0 {
            self.complete(ops.now(), conn, &progress);
        }
        if progress.close {
            return self.closing(ops, conn);
        }
        if progress.completed > 0 {
            match &self.mode {
                Mode::Closed { .. } => self.closed_answered(ops, conn, progress.completed),
                Mode::Open(_) => self.open_answered(ops, conn),
                Mode::SClients(_) | Mode::Handling => self.ended(ops, conn),
            }
        } else if self.sessions[conn as usize].wants_transmit() {
            // One request may take several exchanges (a record that is split).
            self.flush(ops, conn);
        }
    }

    /// The session made progress because the peer closed.
    fn progressed_at_end<O: Ops>(&mut self, ops: &mut O, conn: u32, progress: Progress) {
        self.complete(ops.now(), conn, &progress);
        if self.conns[conn as usize].in_flight > 0 {
            return self.lost(ops, conn, ErrorKind::ShortResponse);
        }
        self.ended(ops, conn);
    }

    /// The session says that this connection carries nothing more.
    fn closing<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.conns[conn as usize].in_flight > 0 {
            return self.lost(ops, conn, ErrorKind::ShortResponse);
        }
        self.close_after_peer(ops, conn);
    }

    /// Writes down what was completed.
    #[inline]
    fn complete(&mut self, now: u64, conn: u32, progress: &Progress) {
        let depth = self.depth;
        let counts = &mut self.record.counts;
        counts.completed += u64::from(progress.completed);
        counts.unexpected += u64::from(progress.unexpected);
        counts.status.iter_mut().zip(progress.status).for_each(|(a, b)| *a += u64::from(b));
        self.record.advance(now, self.in_flight);
        let c = &mut self.conns[conn as usize];
        c.failures = 0;
        let n = progress.completed.min(c.in_flight);
        for _ in 0..n {
            let start = self.starts[conn as usize * depth + c.oldest as usize];
            c.oldest = (c.oldest + 1) % depth as u32;
            self.record.completed(now, start.intended_ns, start.sent_ns);
        }
        c.in_flight -= n;
        self.in_flight -= u64::from(n);
        if c.in_flight == 0 {
            (c.state, c.deadline_ns) = (State::Idle, u64::MAX);
        } else {
            c.deadline_ns = now.saturating_add(self.task.timeout_ns);
        }
    }

    /// The requests in flight on a connection are lost.
    pub(super) fn forget_requests(&mut self, now: u64, conn: u32) {
        self.record.advance(now, self.in_flight);
        let c = &mut self.conns[conn as usize];
        self.in_flight -= u64::from(std::mem::take(&mut c.in_flight));
        c.unsent = 0;
    }
}
