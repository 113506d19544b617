//! Requests that are sent again on another connection, because the server did not process them. There are four kinds
//! of requests that are sent again:
//!
//! - Requests that a server left unprocessed when it closed their connection. In HTTP/2, the streams of unprocessed
//!   requests come after the last stream that a GOAWAY frame names. In HTTP/1, an earlier answer announced the close
//!   (`Connection: close`).
//! - Pipelined requests that followed a request whose connection ended without an announcement. The server may have
//!   read the first of several pipelined requests and then failed, so the first request counts as failed. The requests
//!   that followed the first one are sent again if they are idempotent (RFC 9112, section 9.3.2).
//! - Requests of a keep-alive race: they were sent on an idle connection that the server was just closing. A server may
//!   close a connection after an idle time, or after some number of answers ([`crate::answers_before_close`]). A
//!   request of a keep-alive race is sent again only if it is idempotent (RFC 9110, section 9.2.2) or the server shows
//!   that it did not read the request. An answer with status 408, for example, shows that the server has not read the
//!   request.
//! - Commands that a node of a Redis cluster redirected to another node.
//!
//! Requests to be sent again use the next connection that can take a request, the oldest request first. Requests to be
//! sent again are sent before any new request, even during the drain. A request that is sent again keeps its intended
//! start, so its response time includes the delay. A request that is sent several times counts as sent only once.

use proto::{Done, Fault, Outcome, Which};
use run::ErrorKind;

use super::in_flight::{InFlightRequest, Requeued};
use super::{Core, Mode, State};
use crate::driver::{Ops, Start};
use crate::record::Race;

/// Maximum number of times that one request is sent again after keep-alive races, as in curl (`CONN_MAX_RETRIES`).
const MAX_RESENDS: u8 = 5;
/// Maximum number of suspected keep-alive races per connection that the server closed while it was idle or had only
/// unread requests. Another [`FREE_RACES`] races are accepted in any case. With a think time equal to the keep-alive
/// timeout, we measured 1.8 races per closed idle connection with HAProxy, and up to 0.7 with nginx. If the think time
/// differs from the keep-alive timeout, keep-alive races are much rarer.
const MAX_RACES_PER_IDLE_END: u64 = 4;
/// Number of suspected keep-alive races that are always accepted. [`MAX_RACES_PER_IDLE_END`] allows further races.
const FREE_RACES: u64 = 8;
/// Status of the answer with which a server may close an idle connection (RFC 9110, section 15.5.9).
const REQUEST_TIMEOUT: u16 = 408;

/// Returns true if the protocol shows that the server did not process the request.
pub(super) fn is_unprocessed(done: &Done) -> bool {
    matches!(done.outcome, Outcome::Failed(Fault::Unprocessed | Fault::BehindClose))
}

/// Returns true if a node of a cluster redirected the request to another node.
pub(super) fn is_redirected(done: &Done) -> bool {
    matches!(done.outcome, Outcome::Failed(Fault::Moved | Fault::Asked))
}

/// If the server gave up the idle connection without reading the request, returns the request, so that it can be sent
/// again. For example, an answer with status 408 shows that the server gave up the connection. Returns `None` in any
/// other case, and if the request was already sent again [`MAX_RESENDS`] times. `idle_ns` is the time for which the
/// connection had been idle; 0 if it had not been idle. `is_first` is true for the first request after the idle time.
pub(super) fn gave_up_idle(
    request: &InFlightRequest,
    done: &Done,
    idle_ns: u64,
    is_first: bool,
) -> Option<InFlightRequest> {
    let gave_up = match done.outcome {
        Outcome::Unexpected => done.status == REQUEST_TIMEOUT && is_first,
        Outcome::Failed(fault) => fault == Fault::ConnectionRefused,
        Outcome::Expected => false,
    };
    if gave_up && idle_ns > 0 { resent(request) } else { None }
}

fn resent(request: &InFlightRequest) -> Option<InFlightRequest> {
    let again = InFlightRequest { resends: request.resends + 1, ..without_answer(request) };
    (again.resends <= MAX_RESENDS).then_some(again)
}

/// Returns a request so that it can be sent again, without the stored data about the answer to the failed send.
pub(super) fn without_answer(request: &InFlightRequest) -> InFlightRequest {
    InFlightRequest { first_byte_ns: 0, has_events: false, ..*request }
}

impl Core {
    /// Starts the oldest request of the queue on a connection. Returns false if the queue is empty, or if the
    /// connection's pipeline is full.
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

    /// During the drain, sends up to `most` requests of the queue on a closed-loop connection. No new requests start
    /// during the drain.
    pub(super) fn start_all_requeued<O: Ops>(&mut self, ops: &mut O, conn: u32, most: u32) {
        if self.requeued.is_empty() || !self.sessions.session(conn as usize).takes_more() {
            return;
        }
        let now = ops.now();
        (0..most).take_while(|_| self.start_requeued(now, conn)).count();
        self.flush(ops, conn);
    }

    /// In an open loop, gives connections to the requests of the queue at once, without waiting for the old connection
    /// to end.
    #[inline]
    pub(super) fn take_over<O: Ops>(&mut self, ops: &mut O) {
        if !self.requeued.is_empty() && matches!(self.mode, Mode::Open(_)) {
            self.open_requeued(ops);
        }
    }

    /// Returns true if a connection ended, or may have ended, in a keep-alive race. In a keep-alive race, the server
    /// closes the connection without reading the requests, and sends neither a byte of an answer nor a reason. The
    /// oldest of the unread requests was sent while no other request was in flight. If another request was in flight,
    /// the connection was in use, so the server failed the oldest request. The exception is a server that always closes
    /// after this number of answers. Until a proof of this number, connections that all end after it count as races, and
    /// at the end of the load as failures if no proof came.
    pub(super) fn is_keep_alive_race<O: Ops>(&mut self, ops: &mut O, conn: u32, kind: ErrorKind) -> bool {
        let ended = matches!(kind, ErrorKind::Reset | ErrorKind::ShortResponse);
        let c = &self.conns[conn as usize];
        if !ended || c.state != State::Busy || self.server_said_why(conn) {
            return false;
        }
        if self.conns[conn as usize].was_answered {
            return self.is_after_last_answer(conn) || self.unproven_answers(conn).is_some();
        }
        let is_unread = kind == ErrorKind::ShortResponse && self.is_unread(ops, conn);
        if is_unread {
            self.record.closed_unread(self.answers_before(conn));
        }
        is_unread || self.is_after_last_answer(conn) || self.may_be_race(conn, kind)
    }

    /// Returns the number of answers on a connection whose requests in flight were sent right after an answer. Returns
    /// `None` if the connection had been idle before the requests in flight, or had no answer.
    fn answers_before(&self, conn: u32) -> Option<u64> {
        self.answers(conn).filter(|_| self.conns[conn as usize].idle_ns == 0)
    }

    /// Returns the number of answers on a connection. Returns `None` if the connection had no answer.
    fn answers(&self, conn: u32) -> Option<u64> {
        let c = &self.conns[conn as usize];
        c.has_answers().then(|| c.made - u64::from(c.in_flight))
    }

    /// Returns true if a connection ended after the number of answers after which the server always closes. The server
    /// may have received the requests in flight before it closed, but its close does not depend on them.
    fn is_after_last_answer(&self, conn: u32) -> bool {
        self.answers(conn).is_some_and(|answers| self.record.closes_after_answers(answers))
    }

    /// Returns the number of answers that a connection in use (with pipelined requests) had before it ended. Returns
    /// `None` if the server does not seem to close connections after this number of answers, or if other closes already
    /// proved or disproved that it does. Each connection may end once before the proof.
    pub(super) fn unproven_answers(&self, conn: u32) -> Option<u64> {
        let most = FREE_RACES.max(self.conns.len() as u64);
        let answers = self.answers(conn).filter(|_| self.conns[conn as usize].was_answered)?;
        self.record.may_close_after_answers(answers, most).then_some(answers)
    }

    /// Returns true if the server sent answers on the connection, and then closed it before it received a byte of the
    /// requests in flight.
    fn is_unread<O: Ops>(&self, ops: &mut O, conn: u32) -> bool {
        let c = &self.conns[conn as usize];
        c.has_answers() && c.sent_bytes > 0 && ops.unreceived(conn) >= c.sent_bytes
    }

    /// Returns true if a connection may have ended in a keep-alive race, but nothing proves the race. For example, the
    /// connection may have been reset, or closed by a server behind a proxy that had received the requests.
    ///
    /// A server that fails requests by closing their connections would look like a server with keep-alive races. A real
    /// keep-alive race happens only if a close and a request coincide by chance. A server with such races also closes
    /// other connections: idle ones after the same idle time, or ones whose requests did not arrive. If busy
    /// connections end more often than chance explains, the requests on these connections count as failed.
    fn may_be_race(&self, conn: u32, kind: ErrorKind) -> bool {
        let (c, record) = (&self.conns[conn as usize], &self.record);
        let is_possible = match c.idle_ns {
            0 => kind == ErrorKind::Reset && c.has_answers(),
            idle_ns => record.closes_after(idle_ns),
        };
        let races = record.counts.keep_alive_races;
        is_possible && races < FREE_RACES + MAX_RACES_PER_IDLE_END * record.closes_without_request()
    }

    /// Returns true if the server began an answer, or gave a reason (HTTP/2, WebSocket) for closing the connection.
    fn server_said_why(&mut self, conn: u32) -> bool {
        let session = self.sessions.session(conn as usize);
        session.is_answering() != Some(false) || session.close_words().is_some()
    }

    /// If a connection ended before any byte of its requests was sent, records a keep-alive race and returns true. The
    /// server cannot have read requests of which no byte was sent.
    pub(super) fn ended_before_send<O: Ops>(&mut self, ops: &mut O, conn: u32) -> bool {
        let c = self.conns[conn as usize];
        let is_unsent = c.state == State::Busy && c.sent_bytes == 0 && c.has_answers();
        if !is_unsent || self.server_said_why(conn) {
            return false;
        }
        self.server_ended(ops.now(), conn);
        self.lost_after_answers(conn);
        self.record.closed_unread(self.answers_before(conn));
        self.raced(ops, conn, ErrorKind::ShortResponse, None);
        true
    }

    /// Ends a connection after a keep-alive race that looked like a failure of kind `kind`. Idempotent requests are
    /// queued to be sent again, and others count as failed. `unproven_answers` is the number of answers of a connection
    /// in use; see [`Race::unproven_answers`].
    pub(super) fn raced<O: Ops>(&mut self, ops: &mut O, conn: u32, kind: ErrorKind, unproven_answers: Option<u64>) {
        let c = self.conns[conn as usize];
        let oldest = self.requests.oldest(conn);
        let lost_ns = oldest.map_or(0, |oldest| ops.now().saturating_sub(oldest.start.intended_ns));
        let sent = c.in_flight.saturating_sub(c.unsent);
        let first = self.resend_oldest(ops.now(), conn, sent > 0);
        let (behind_resent, behind_failed) = self.resend_all(ops.now(), conn, sent.saturating_sub(1));
        let is_first_resent = first == Some(true);
        self.record.raced(&Race { kind, unproven_answers, lost_ns, is_first_resent, behind_resent, behind_failed });
        self.forget_requests(ops.now(), conn);
        self.ended(ops, conn);
        self.take_over(ops);
    }

    /// Sends the oldest request in flight on a connection again on another connection, and returns true. If the oldest
    /// request may not be sent again, counts it as failed and returns false. Returns `None` if no request is in flight.
    fn resend_oldest(&mut self, now: u64, conn: u32, sent: bool) -> Option<bool> {
        let request = self.requests.end(conn, Which::Oldest)?;
        let is_idempotent = self.idempotent.get(usize::from(request.item)).copied().unwrap_or_default();
        let again = resent(&request).filter(|_| self.takes_over && is_idempotent);
        match again {
            Some(begun) => self.requeued.push_back(Requeued { begun, sent }),
            None => self.record.failed(now, conn, &request),
        }
        Some(again.is_some())
    }

    /// Sends all requests in flight on a connection again; the oldest `sent` of them count as sent. Returns the numbers
    /// of requests that are sent again, and of requests that failed.
    fn resend_all(&mut self, now: u64, conn: u32, mut sent: u32) -> (u64, u64) {
        let (mut resents, mut failures) = (0, 0);
        while let Some(is_resent) = self.resend_oldest(now, conn, sent > 0) {
            resents += u64::from(is_resent);
            failures += u64::from(!is_resent);
            sent = sent.saturating_sub(1);
        }
        (resents, failures)
    }

    /// Ends the requests in flight on a connection that was lost with a failure of kind `kind`. Returns the number of
    /// requests that failed. If the connection ended while pipelined requests waited, only the oldest request failed,
    /// and the later requests are sent again if they are idempotent. During the drain, all requests fail, because a
    /// lost connection is not replaced then.
    pub(super) fn fail_first<O: Ops>(&mut self, ops: &mut O, conn: u32, kind: ErrorKind) -> u64 {
        let (now, c) = (ops.now(), self.conns[conn as usize]);
        let has_ended = matches!(kind, ErrorKind::Reset | ErrorKind::ShortResponse);
        if !has_ended || !self.resends_pipelined || self.draining {
            self.fail_requests(now, conn);
            return u64::from(c.in_flight);
        }
        let Some(first) = self.requests.end(conn, Which::Oldest) else { return 0 };
        self.record.failed(now, conn, &first);
        let sent = c.in_flight.saturating_sub(c.unsent).saturating_sub(1);
        let (resents, failures) = self.resend_all(now, conn, sent);
        self.record.counts.unprocessed += resents;
        1 + failures
    }
}
