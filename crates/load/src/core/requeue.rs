//! Requests that are sent again on another connection, because the server did not process them:
//!
//! - Requests that the server left unprocessed when it closed their connection: those after the last stream of a GOAWAY
//!   (HTTP/2), or pipelined after an answer that announced the close (HTTP/1).
//! - Requests of a *keep-alive race*: they left on an idle connection while the server closed it. Only idempotent
//!   requests are sent again (RFC 9110, section 9.2.2), or those answered with 408, which the server has not read.
//!
//! The next connection with room takes them, oldest first and before any new request, also in the drain. Each keeps its
//! intended start, so its response time includes the delay, and counts as sent once.

use proto::{Done, Fault, Outcome, Which};
use run::ErrorKind;

use super::in_flight::{InFlightRequest, Requeued};
use super::{Core, Mode, State};
use crate::driver::{Ops, Start};

/// Maximum number of times that a request is sent again after keep-alive races, as in curl (`CONN_MAX_RETRIES`).
const MAX_RESENDS: u8 = 5;
/// Maximum number of keep-alive races for each idle connection that the server closed. With a think time equal to the
/// keep-alive timeout, HAProxy had 1.8 and nginx up to 0.7. With other think times, races are far rarer.
const MAX_RACES_PER_IDLE_END: u64 = 4;
/// Number of keep-alive races allowed before the server has closed any idle connection.
const FREE_RACES: u64 = 8;
/// Status of a server that gives up an idle connection (RFC 9110, section 15.5.9).
const REQUEST_TIMEOUT: u16 = 408;

/// Returns true if the server said that it did not process the request.
pub(super) fn is_unprocessed(done: &Done) -> bool {
    matches!(done.outcome, Outcome::Failed(Fault::Unprocessed | Fault::BehindClose))
}

/// Returns the request to send again, if the server gave up the connection before it read the request. The connection
/// had been idle for `idle_ns`; `is_first` is true for the first request after that.
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
    let again = InFlightRequest { resends: request.resends + 1, ..*request };
    (again.resends <= MAX_RESENDS).then_some(again)
}

impl Core {
    /// Starts the oldest requeued request on a connection. Returns false if no request is requeued or the connection
    /// has no room.
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

    /// Returns true if the end of a connection is a keep-alive race: the connection had been idle before its requests
    /// left, and neither a byte of an answer nor a reason came.
    ///
    /// A server that fails requests by closing their connections looks alike. Races happen only by chance: a server
    /// with races also closes idle connections, after an equal idle time. If connections end more often than chance
    /// explains, or after other idle times, the ends are failures.
    pub(super) fn is_keep_alive_race(&mut self, conn: u32, kind: ErrorKind) -> bool {
        let c = &self.conns[conn as usize];
        let counts = &self.record.counts;
        matches!(kind, ErrorKind::Reset | ErrorKind::ShortResponse)
            && c.state == State::Busy
            && c.idle_ns > 0
            && counts.keep_alive_races < FREE_RACES + MAX_RACES_PER_IDLE_END * counts.closed_by_server
            && self.record.closes_after(c.idle_ns)
            && !self.server_said_why(conn)
    }

    /// Returns true if the server began an answer, or closed the connection with a reason (HTTP/2, WebSocket).
    fn server_said_why(&mut self, conn: u32) -> bool {
        let session = self.sessions.session(conn as usize);
        session.is_answering() != Some(false) || session.close_words().is_some()
    }

    /// Ends a connection with a keep-alive race. Idempotent requests are sent again; the others count as failed.
    pub(super) fn raced<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let c = self.conns[conn as usize];
        let (mut resents, mut failures) = (0, 0);
        let mut sent = c.in_flight.saturating_sub(c.unsent);
        while let Some(request) = self.requests.end(conn, Which::Oldest) {
            let is_idempotent = self.idempotent.get(usize::from(request.item)).copied().unwrap_or_default();
            match resent(&request).filter(|_| self.takes_over && is_idempotent) {
                Some(begun) => {
                    resents += 1;
                    self.requeued.push_back(Requeued { begun, sent: sent > 0 });
                }
                None => {
                    failures += 1;
                    self.record.failed(ops.now(), &request);
                }
            }
            sent = sent.saturating_sub(1);
        }
        self.record.raced(resents, failures);
        self.forget_requests(ops.now(), conn);
        self.ended(ops, conn);
        self.take_over(ops);
    }
}
