//! Records the requests that have ended, and the requests that will be sent again.

use std::collections::VecDeque;

use proto::{Done, Outcome, Requester};
use run::ErrorKind;

use super::in_flight::{InFlight, InFlightRequest, Requeued};
use super::requeue::{gave_up_idle, is_redirected, is_unprocessed, without_answer};
use super::{Conn, Core, State};
use crate::record::Record;

/// Records the requests that a session reports as completed, for one connection.
pub(super) struct CompletionSink<'a> {
    record: &'a mut Record,
    requests: &'a mut InFlight,
    /// Queue of requests that will be sent again; `None` if this load never sends a request again.
    requeued: Option<&'a mut VecDeque<Requeued>>,
    /// Number of requests on the connection that do not yet count as sent.
    unsent: &'a mut u32,
    /// Time for which the connection had been idle before its requests were sent, nanoseconds.
    idle_ns: u64,
    /// Maximum time from the send of a request to the end of its answer, nanoseconds.
    timeout_ns: u64,
    conn: u32,
    pub(super) now: u64,
    ended: u32,
}

impl CompletionSink<'_> {
    #[inline]
    pub(super) fn done(&mut self, done: Done) {
        // If a session reports an unknown ID by mistake, there is no request to count.
        if let Some(request) = self.requests.end(self.conn, done.which) {
            self.ended += 1;
            if self.is_late(&request, &done) {
                self.record.timed_out(self.now, self.conn, &request, done.bytes);
            } else if done.outcome == Outcome::Expected || !self.requeues(&request, &done) {
                self.record.ended(self.now, self.conn, &request, done);
            }
        }
    }

    /// Returns true if an answer came after the timeout of its request. The timer of a connection starts anew with each
    /// request and each answer. The timer therefore does not notice a late answer while other requests are answered.
    #[inline]
    fn is_late(&self, request: &InFlightRequest, done: &Done) -> bool {
        let took_ns = self.now.saturating_sub(request.start.sent_ns);
        took_ns > self.timeout_ns && !matches!(done.outcome, Outcome::Failed(_))
    }

    /// If the server did not process a request, queues it to be sent again on another connection, and returns true.
    fn requeues(&mut self, request: &InFlightRequest, done: &Done) -> bool {
        let Some(requeued) = &mut self.requeued else { return false };
        if is_redirected(done) {
            requeued.push_back(Requeued { begun: without_answer(request), sent: true });
            self.record.redirected(done);
            return true;
        }
        if is_unprocessed(done) {
            // The newest requests on a connection are sent last, and a closing server leaves exactly the newest
            // requests unprocessed. While a request on the connection is unsent, each unprocessed request counts as
            // unsent.
            requeued.push_back(Requeued { begun: without_answer(request), sent: *self.unsent == 0 });
            *self.unsent = self.unsent.saturating_sub(1);
            self.record.unprocessed(done);
            return true;
        }
        let Some(begun) = gave_up_idle(request, done, self.idle_ns, self.ended == 1) else { return false };
        requeued.push_back(Requeued { begun, sent: true });
        let reason = (done.status > 0).then(|| format!("with status {}", done.status));
        self.record.keep_reason(self.now, ErrorKind::KeepAliveRace, || reason);
        self.record.counts.keep_alive_races += 1;
        self.record.counts.resent += 1;
        true
    }
}

impl Core {
    /// Calls a function with the session of a connection, and records the requests that the session reports as
    /// completed. Returns the result of `call`, and the number of requests that ended.
    #[inline]
    pub(super) fn record_completions<T>(
        &mut self,
        now: u64,
        conn: u32,
        call: impl FnOnce(&mut dyn Requester, &mut CompletionSink<'_>) -> T,
    ) -> (T, u32) {
        let (record, requests) = (&mut self.record, &mut self.requests);
        let requeued = self.takes_over.then_some(&mut self.requeued);
        let timeout_ns = self.task.answer_timeout_ns();
        let Conn { unsent, idle_ns, .. } = &mut self.conns[conn as usize];
        let idle_ns = *idle_ns;
        let mut sink = CompletionSink { record, requests, requeued, unsent, idle_ns, timeout_ns, conn, now, ended: 0 };
        let result = call(self.sessions.session(conn as usize), &mut sink);
        let (now, ended) = (sink.now, sink.ended);
        if ended > 0 {
            self.record.keep_words(now, self.sessions.session(conn as usize));
            self.settle(now, conn, ended);
            self.open_measured(now, conn);
        }
        (result, ended)
    }

    /// Updates the counts of a connection on which `ended` requests have ended.
    #[inline]
    fn settle(&mut self, now: u64, conn: u32, ended: u32) {
        self.record.advance(now, self.in_flight);
        self.answered_ns = now;
        self.in_flight -= u64::from(ended);
        let c = &mut self.conns[conn as usize];
        (c.failures, c.quiet_ns, c.idle_ns, c.was_answered) = (0, now, 0, true);
        c.in_flight -= ended;
        // A request that was answered was sent, even if the driver has not yet reported the end of the send.
        let unsent = c.unsent.min(c.in_flight);
        self.record.counts.sent += u64::from(std::mem::replace(&mut c.unsent, unsent) - unsent);
        if c.in_flight == 0 {
            (c.state, c.deadline_ns) = (State::Idle, u64::MAX);
        } else {
            c.deadline_ns = now.saturating_add(self.task.timeout_ns);
        }
    }
}
