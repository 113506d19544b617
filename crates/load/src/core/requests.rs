//! The life of a request on an established connection: begun, sent, answered.

use std::collections::VecDeque;

use proto::{Done, Fault, Outcome, Progress, Request, Requester};
use run::ErrorKind;
use sys::Errno;

use super::in_flight::{Again, Begun, InFlight};
use super::{Core, Mode, State};
use crate::driver::{Op, Ops, Sent, Start};
use crate::record::{Record, kind_of};

/// Takes down what a session says of the requests of one connection.
struct Told<'a> {
    record: &'a mut Record,
    requests: &'a mut InFlight,
    /// Where requests go that are made again, if they are.
    again: Option<&'a mut VecDeque<Again>>,
    /// Of the connection's requests, those that are not counted as sent.
    unsent: &'a mut u32,
    conn: u32,
    now: u64,
    ended: u32,
}

impl Told<'_> {
    #[inline]
    fn done(&mut self, done: Done) {
        // A name that is not in flight is a mistake of the session, and no request.
        if let Some(request) = self.requests.end(self.conn, done.which) {
            self.ended += 1;
            match &mut self.again {
                Some(again) if done.outcome == Outcome::Failed(Fault::Unprocessed) => {
                    // Those that have not left are the newest, as those are that a server has not looked at.
                    again.push_back(Again { begun: request, sent: *self.unsent == 0 });
                    *self.unsent = self.unsent.saturating_sub(1);
                    self.record.counts.unprocessed += 1;
                }
                _ => self.record.ended(self.now, &request, done),
            }
        }
    }
}

impl Core {
    /// Begins a request that was to start at `intended_ns`; [`Core::flush`] sends it.
    #[inline]
    pub(super) fn begin(&mut self, now: u64, conn: u32, intended_ns: u64) {
        let item = self.mix.next(&mut self.rng, self.conns[conn as usize].made);
        let class = self.mix.class(item);
        let begun = Begun { start: Start { intended_ns, sent_ns: now }, class, item };
        if self.put(now, conn, begun, true) {
            self.record.begun(class);
        }
    }

    /// Puts a request on a connection; whether there was room. With `counts` it is counted as sent once it has left.
    #[inline]
    pub(super) fn put(&mut self, now: u64, conn: u32, begun: Begun, counts: bool) -> bool {
        let Some(id) = self.requests.begin(conn, begun) else { return false };
        let c = &mut self.conns[conn as usize];
        c.in_flight += 1;
        c.made += 1;
        c.unsent += u32::from(counts);
        c.state = State::Busy;
        self.in_flight += 1;
        self.sessions.at(conn as usize).begin(Request { id, item: begun.item });
        self.arm(conn, now.saturating_add(self.task.timeout_ns));
        true
    }

    /// Sends what the session has to send.
    #[inline]
    pub(super) fn flush<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let session = self.sessions.at(conn as usize);
        let c = &mut self.conns[conn as usize];
        while !c.pending && session.wants_transmit() {
            let mut bytes = 0;
            let sent = ops.send(conn, |out| {
                bytes = session.transmit(out);
                bytes
            });
            self.record.counts.bytes_sent += bytes as u64;
            if c.state == State::Handshaking {
                self.record.counts.handshake_bytes_sent += bytes as u64;
            }
            match sent {
                Ok(Sent::All) => {}
                Ok(Sent::Pending) => c.pending = true,
                Err(errno) => return self.send_failed(ops, conn, errno),
            }
        }
        if !c.pending && c.unsent > 0 {
            self.record.counts.sent += u64::from(std::mem::take(&mut c.unsent));
            self.flushed(ops, conn);
        }
    }

    /// Sends what the session wants to say besides requests (pings, window updates, the end of a handshake), if this
    /// connection is still there.
    #[inline]
    pub(super) fn flush_unasked<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let established = matches!(self.conns[conn as usize].state, State::Idle | State::Thinking | State::Busy);
        if established && self.sessions.at(conn as usize).wants_transmit() {
            self.flush(ops, conn);
        }
    }

    /// Everything is handed to the system. Where sending alone completes a request (discard), what follows is left to the
    /// next pass: going on at once would call itself for as long as the socket takes everything.
    #[inline]
    fn flushed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let (progress, ended) =
            self.tell(ops.now(), conn, |session, told| session.flushed(&mut |done| told.done(done)));
        if progress.close {
            return self.closing(ops, conn);
        }
        if ended > 0 && self.conns[conn as usize].in_flight == 0 && !self.draining {
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
        match c.state {
            State::Closing => return,
            State::Handshaking => return self.handshaking(ops, conn, bytes),
            _ => {}
        }
        let (heard, ended) =
            self.tell(ops.now(), conn, |session, told| session.receive(bytes, &mut |done| told.done(done)));
        match heard {
            Ok(progress) => self.progressed(ops, conn, progress, ended),
            Err(fault) => self.faulted(ops, conn, fault),
        }
    }

    /// The peer will send nothing more.
    pub(super) fn peer_closed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.conns[conn as usize].state {
            State::Closing => {
                self.farewell(ops, conn);
                return self.ended(ops, conn);
            }
            State::Idle | State::Thinking => return self.closed_while_idle(ops, conn),
            State::Handshaking => return self.lost(ops, conn, ErrorKind::ConnectFailed),
            _ => {}
        }
        let (heard, _) = self.tell(ops.now(), conn, |session, told| session.peer_closed(&mut |done| told.done(done)));
        match heard {
            Ok(_) if self.conns[conn as usize].in_flight > 0 => self.lost(ops, conn, ErrorKind::ShortResponse),
            Ok(_) => self.ended(ops, conn),
            Err(fault) => self.faulted(ops, conn, fault),
        }
    }

    fn faulted<O: Ops>(&mut self, ops: &mut O, conn: u32, fault: Fault) {
        self.farewell(ops, conn);
        self.lost(ops, conn, kind_of(fault));
    }

    /// What the session says last, as far as it leaves at once: why it ends the connection (a GOAWAY, an alert of TLS).
    pub(super) fn farewell<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let (session, c) = (self.sessions.at(conn as usize), self.conns[conn as usize]);
        if !session.wants_transmit() {
            return;
        }
        let mut bytes = 0;
        let say = |out: &mut [u8]| {
            bytes = session.transmit(out);
            bytes
        };
        // The connection is lost, whatever becomes of this. A driver that only learns later that something has left gets
        // this behind it: two pieces of a server may come within one pass, and the fault is in the second.
        let _ = if c.pending { ops.send_last(conn, say) } else { ops.send(conn, say).is_ok() };
        self.record.counts.bytes_sent += bytes as u64;
        if c.state == State::Handshaking {
            self.record.counts.handshake_bytes_sent += bytes as u64;
        }
    }

    /// The session made progress on a connection that lives.
    #[inline]
    fn progressed<O: Ops>(&mut self, ops: &mut O, conn: u32, progress: Progress, ended: u32) {
        if progress.close {
            // Its last words: the answer to a close, say.
            self.flush_unasked(ops, conn);
            if matches!(self.conns[conn as usize].state, State::Idle | State::Thinking | State::Busy) {
                self.closing(ops, conn);
            }
            return self.take_over(ops);
        }
        if ended > 0 {
            match &self.mode {
                Mode::Closed { .. } => self.closed_answered(ops, conn, ended),
                Mode::Open(_) => self.open_answered(ops, conn),
                Mode::SClients(_) | Mode::Handling => self.ended(ops, conn),
            }
        }
        // One request may take several exchanges (a record that is split), and some bytes no request asked for.
        self.flush_unasked(ops, conn);
        self.take_over(ops);
    }

    /// The session says that this connection carries nothing more.
    fn closing<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.conns[conn as usize].in_flight > 0 {
            self.farewell(ops, conn);
            return self.lost(ops, conn, ErrorKind::ShortResponse);
        }
        self.open_forget_idle(conn);
        self.close_after_peer(ops, conn);
    }

    /// Lets the session of a connection speak, and takes down which requests it says have ended; how many.
    #[inline]
    fn tell<T>(&mut self, now: u64, conn: u32, say: impl FnOnce(&mut dyn Requester, &mut Told<'_>) -> T) -> (T, u32) {
        let (record, requests) = (&mut self.record, &mut self.requests);
        let (again, unsent) = (self.takes_over.then_some(&mut self.again), &mut self.conns[conn as usize].unsent);
        let mut told = Told { record, requests, again, unsent, conn, now, ended: 0 };
        let said = say(self.sessions.at(conn as usize), &mut told);
        let ended = told.ended;
        if ended > 0 {
            self.settle(now, conn, ended);
        }
        (said, ended)
    }

    /// So many requests of a connection have ended.
    #[inline]
    fn settle(&mut self, now: u64, conn: u32, ended: u32) {
        self.record.advance(now, self.in_flight);
        self.in_flight -= u64::from(ended);
        let c = &mut self.conns[conn as usize];
        c.failures = 0;
        c.in_flight -= ended;
        // What is answered has left, whether or not the driver has said so before the connection ends.
        let unsent = c.unsent.min(c.in_flight);
        self.record.counts.sent += u64::from(std::mem::replace(&mut c.unsent, unsent) - unsent);
        if c.in_flight == 0 {
            (c.state, c.deadline_ns) = (State::Idle, u64::MAX);
        } else {
            c.deadline_ns = now.saturating_add(self.task.timeout_ns);
        }
    }

    /// The requests in flight on a connection failed with it.
    pub(super) fn fail_by_class(&mut self, conn: u32) {
        while self.record.has_classes()
            && let Some(request) = self.requests.end(conn, proto::Which::Oldest)
        {
            self.record.failed(request.class);
        }
    }

    /// The requests in flight on a connection are lost.
    pub(super) fn forget_requests(&mut self, now: u64, conn: u32) {
        self.record.advance(now, self.in_flight);
        self.requests.clear(conn);
        let c = &mut self.conns[conn as usize];
        self.in_flight -= u64::from(std::mem::take(&mut c.in_flight));
        c.unsent = 0;
    }
}
