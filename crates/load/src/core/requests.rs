//! The steps of a request on an established connection: it is started, sent, and answered.

use proto::{Fault, Progress, Request};
use run::ErrorKind;
use sys::Errno;

use super::in_flight::InFlightRequest;
use super::{Core, Mode, State};
use crate::driver::{Op, Ops, Sent, Start};
use crate::record::kind_of;

impl Core {
    /// Starts a request that is due at `intended_ns`. [`Core::flush`] sends the request.
    #[inline]
    pub(super) fn begin(&mut self, now: u64, conn: u32, intended_ns: u64) {
        let item = self.mix.next(&mut self.rng, self.conns[conn as usize].made);
        let class = self.mix.class(item);
        let trace = self.traces.next();
        let start = Start { intended_ns, sent_ns: now };
        let begun = InFlightRequest { start, class, item, trace, ..InFlightRequest::default() };
        if self.put(now, conn, begun, true) {
            self.record.begun(class, self.conns[conn as usize].address);
            self.record.counts.traced += u64::from(trace.is_some());
        }
    }

    /// Puts a request on a connection. Returns false if the connection's pipeline is full. If `counts` is true, the
    /// request counts as sent once all of its bytes are sent.
    #[inline]
    pub(super) fn put(&mut self, now: u64, conn: u32, begun: InFlightRequest, counts: bool) -> bool {
        let c = &mut self.conns[conn as usize];
        let begun = InFlightRequest { address: c.address, ..begun };
        let Some(id) = self.requests.begin(conn, begun) else { return false };
        if c.in_flight == 0 {
            (c.idle_ns, c.sent_bytes, c.was_answered) = (now.saturating_sub(c.quiet_ns), 0, false);
        }
        c.in_flight += 1;
        c.made += 1;
        c.unsent += u32::from(counts);
        c.state = State::Busy;
        // Counts the time until now with the previous number of requests in flight. Without the call of `advance`, the
        // new request would also count as in flight for the time since the last event, such as a connect.
        self.record.advance(now, self.in_flight);
        self.in_flight += 1;
        self.sessions.session(conn as usize).begin(Request { id, item: begun.item, trace: begun.trace });
        self.arm(conn, now.saturating_add(self.task.timeout_ns));
        true
    }

    /// Sends the bytes that the connection's protocol session has ready.
    #[inline]
    pub(super) fn flush<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.tick(ops, conn);
        let session = self.sessions.session(conn as usize);
        let c = &mut self.conns[conn as usize];
        while !c.pending && session.wants_transmit() {
            let mut bytes = 0;
            let sent = ops.send(conn, |out| {
                bytes = session.transmit(out);
                bytes
            });
            c.sent_bytes += bytes;
            self.record.counts.bytes_sent += bytes as u64;
            if c.state == State::Handshaking {
                self.record.counts.handshake_bytes_sent += bytes as u64;
            }
            match sent {
                Ok(Sent::All) => {}
                Ok(Sent::Pending) => c.pending = true,
                Err(errno) => return self.send_failed(ops, conn, errno, bytes),
            }
        }
        let is_sent = !c.pending;
        if self.waits_for_streams {
            let (requests, now) = (&mut self.requests, ops.now());
            session.each_late_request(&mut |id| requests.sent(conn, id, now));
        }
        self.arm_session(conn);
        let c = &mut self.conns[conn as usize];
        if is_sent && c.unsent > 0 {
            self.record.counts.sent += u64::from(std::mem::take(&mut c.unsent));
            self.flushed(ops, conn);
        }
    }

    /// Sends bytes of the session that are not part of a request, such as pings, window updates or the end of a
    /// handshake. Does nothing if the connection is not established.
    #[inline]
    pub(super) fn flush_unasked<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let established = matches!(self.conns[conn as usize].state, State::Idle | State::Thinking | State::Busy);
        if established && self.sessions.session(conn as usize).wants_transmit() {
            self.flush(ops, conn);
        }
    }

    /// Handles a send that is complete. In the protocol `discard`, a request is complete when it is sent. The next
    /// request of the protocol `discard` starts in the next pass of the event loop. If the next request started here,
    /// this function would call itself repeatedly while the socket accepts all data.
    #[inline]
    fn flushed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let (progress, ended) = self.record_completions(ops.now(), conn, |session, sink| {
            session.flushed(&mut |done| {
                // A request of the protocol `discard` lasts as long as its send. The time of this pass of the event
                // loop was read before the send, so the clock must be read again.
                sink.now = ops.refresh();
                sink.done(done);
            })
        });
        if progress.close {
            return self.closing(ops, conn);
        }
        if ended > 0 && self.conns[conn as usize].in_flight == 0 && !self.draining {
            self.conns[conn as usize].state = State::Thinking;
            self.arm(conn, ops.now());
        }
    }

    /// Handles a send of `bytes` that failed. Received bytes may still follow, for example after a reset, but the
    /// connection is lost.
    fn send_failed<O: Ops>(&mut self, ops: &mut O, conn: u32, errno: Errno, bytes: usize) {
        let c = &mut self.conns[conn as usize];
        c.sent_bytes = c.sent_bytes.saturating_sub(bytes);
        let is_ended = matches!(errno, Errno::PIPE | Errno::CONNRESET);
        if !is_ended || !self.ended_before_send(ops, conn) {
            self.failed(ops, conn, Op::Send, errno);
        }
    }

    /// Handles the end of a send that had to wait for the socket.
    pub(super) fn writable<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.conns[conn as usize].pending = false;
        self.flush(ops, conn);
        if matches!(self.mode, Mode::SClients(_)) {
            self.sclients_hand_over(ops, conn);
        }
    }

    /// Handles received bytes of a connection.
    #[inline]
    pub(super) fn received<O: Ops>(&mut self, ops: &mut O, conn: u32, bytes: &[u8]) {
        self.record.counts.bytes_received += bytes.len() as u64;
        let c = &mut self.conns[conn as usize];
        c.heard = true;
        match c.state {
            State::Closing => return self.received_while_closing(ops, conn, bytes),
            State::Handshaking => return self.handshaking(ops, conn, bytes),
            _ => {}
        }
        let (heard, ended) = self
            .record_completions(ops.now(), conn, |session, sink| session.receive(bytes, &mut |done| sink.done(done)));
        self.mark_begun_answers(ops.now(), conn);
        match heard {
            Ok(progress) => self.progressed(ops, conn, progress, ended),
            Err(fault) => self.faulted(ops, conn, fault),
        }
    }

    /// For answers that are not yet complete, stores the time of the first byte, and records the events that arrived.
    /// For an answer that arrives in one piece, does nothing.
    #[inline]
    pub(super) fn mark_begun_answers(&mut self, now: u64, conn: u32) {
        let c = &mut self.conns[conn as usize];
        if c.in_flight > 0 {
            let (requests, record, timeout_ns) = (&mut self.requests, &mut self.record, self.task.timeout_ns);
            self.sessions.session(conn as usize).each_begun_answer(&mut |which, events| {
                if let Some(request) = requests.answer_goes_on(conn, which, now, events)
                    && record.events(now, conn, &request, events)
                {
                    // For a stream, the timeout is the longest wait for its next event.
                    c.deadline_ns = now.saturating_add(timeout_ns);
                }
            });
        }
    }

    /// Handles a connection on which the server will send nothing more.
    pub(super) fn peer_closed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.conns[conn as usize].state {
            State::Closing => return self.closed_as_announced(ops, conn),
            State::Idle | State::Thinking => return self.closed_while_idle(ops, conn),
            State::Handshaking => return self.lost(ops, conn, ErrorKind::HandshakeFailed),
            _ => {}
        }
        let (heard, _) =
            self.record_completions(ops.now(), conn, |session, sink| session.peer_closed(&mut |done| sink.done(done)));
        match heard {
            Ok(_) if self.conns[conn as usize].in_flight > 0 => self.lost(ops, conn, ErrorKind::ShortResponse),
            Ok(_) => {
                self.ended(ops, conn);
                self.take_over(ops);
            }
            Err(fault) => self.faulted(ops, conn, fault),
        }
    }

    fn faulted<O: Ops>(&mut self, ops: &mut O, conn: u32, fault: Fault) {
        let (c, counts) = (&self.conns[conn as usize], &mut self.record.counts);
        let is_unasked = matches!(fault, Fault::Unasked(_));
        counts.unasked += u64::from(is_unasked || c.in_flight == 0);
        if is_unasked {
            counts.doubtful += c.made - u64::from(c.in_flight);
        }
        let session = self.sessions.session(conn as usize);
        // If the server closed the connection too early, only the server's own words are a useful reason.
        let said = (fault != Fault::Short).then(|| fault.to_string());
        let reason = || session.close_words().or(said);
        self.record.keep_reason(ops.now(), kind_of(fault), reason);
        self.farewell(ops, conn);
        self.lost(ops, conn, kind_of(fault));
    }

    /// Sends as many of the session's last bytes as the socket accepts at once. The last bytes (a GOAWAY, or a TLS
    /// alert) tell the server why the connection ends.
    pub(super) fn farewell<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.tick(ops, conn);
        let (session, c) = (self.sessions.session(conn as usize), self.conns[conn as usize]);
        if !session.wants_transmit() {
            return;
        }
        let mut bytes = 0;
        let call = |out: &mut [u8]| {
            bytes = session.transmit(out);
            bytes
        };
        // Errors are ignored, because the connection is lost in any case. One pass of the event loop may read two
        // packets of the server, the second of which contains the fault. If the answer to the first packet is still in
        // the driver's queue, the driver puts the last bytes behind this answer.
        let _ = if c.pending { ops.send_last(conn, call) } else { ops.send(conn, call).is_ok() };
        self.record.counts.bytes_sent += bytes as u64;
        if c.state == State::Handshaking {
            self.record.counts.handshake_bytes_sent += bytes as u64;
        }
    }

    /// Handles the result of a session that has read input without a fault.
    #[inline]
    fn progressed<O: Ops>(&mut self, ops: &mut O, conn: u32, progress: Progress, ended: u32) {
        self.record.counts.unasked += u64::from(progress.unasked);
        if progress.close {
            let c = &self.conns[conn as usize];
            if matches!(c.state, State::Idle | State::Thinking) && ended == 0 {
                let idle_ns = ops.now().saturating_sub(c.quiet_ns);
                self.server_ended(ops.now(), conn);
                self.record.closed_while_idle(idle_ns, self.conns[conn as usize].made);
                let session = self.sessions.session(conn as usize);
                self.record.keep_reason(ops.now(), ErrorKind::KeepAliveRace, || session.close_words());
            }
            // The session may have last bytes to send, such as the answer to a close message.
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
            self.abandon_transaction(ops, conn);
        }
        // The session may have more bytes to send. A request may need several exchanges (such as parts of a record),
        // and some bytes are not part of a request.
        self.flush_unasked(ops, conn);
        self.take_over(ops);
    }

    /// Handles a session that accepts no more requests on this connection.
    fn closing<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.conns[conn as usize].in_flight > 0 {
            self.farewell(ops, conn);
            return self.lost(ops, conn, ErrorKind::ShortResponse);
        }
        self.open_forget_idle(conn);
        self.end_announced(ops, conn);
    }

    /// Removes each request in flight on a connection, and records its failure.
    pub(super) fn fail_requests(&mut self, now: u64, conn: u32) {
        while let Some(request) = self.requests.end(conn, proto::Which::Oldest) {
            self.record.failed(now, conn, &request);
        }
    }

    /// Removes all requests in flight on a connection from the counts.
    pub(super) fn forget_requests(&mut self, now: u64, conn: u32) {
        self.record.advance(now, self.in_flight);
        self.requests.clear(conn);
        let c = &mut self.conns[conn as usize];
        self.in_flight -= u64::from(std::mem::take(&mut c.in_flight));
        c.unsent = 0;
    }
}
