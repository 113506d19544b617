//! Records requests that have ended, and the reasons of failures.

use proto::{Done, Fault, Outcome, Requester};
use run::{CoarseHist, ErrorKind};

use super::streams::StreamEnd;
use super::{Record, kind_of};
use crate::core::InFlightRequest;
use crate::traces::Ended;

impl Record {
    /// Stores the text of the last refusal if its status is new. Stores the reason of the last failed request whose
    /// connection continued, if this kind of failure is new.
    #[inline]
    pub(crate) fn keep_words(&mut self, now_ns: u64, session: &dyn Requester) {
        if let Some(status) = self.first_failures.take_new_status() {
            let at_s = self.since_begin_s(now_ns);
            self.first_failures.keep_status(at_s, status, session.refusal_words().unwrap_or_default());
        }
        if let Some(fault) = self.first_failures.take_failed() {
            self.keep_reason(now_ns, kind_of(fault), || match fault {
                Fault::WrongBody(why) => Some(why.into()),
                Fault::Malformed(_) | Fault::Limit(_) => Some(fault.to_string()),
                _ => session.close_words(),
            });
        }
    }

    /// Counts a request that the server did not process, and that is sent again.
    pub(crate) fn unprocessed(&mut self, done: &Done) {
        self.counts.unprocessed += 1;
        if let Outcome::Failed(fault) = done.outcome {
            self.first_failures.failed(fault);
        }
    }

    /// Counts a command that a node of a cluster redirected, and that is sent to another node.
    pub(crate) fn redirected(&mut self, done: &Done) {
        let is_moved = done.outcome == Outcome::Failed(Fault::Moved);
        self.counts.moved += u64::from(is_moved);
        self.counts.asked += u64::from(!is_moved);
    }

    /// Stores the reason of a failure if the failure is the first of its kind.
    pub(crate) fn keep_reason(&mut self, now_ns: u64, kind: ErrorKind, reason: impl FnOnce() -> Option<String>) {
        let at_s = self.since_begin_s(now_ns);
        self.first_failures.keep(at_s, kind, reason);
    }

    fn since_begin_s(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.origin_ns) as f64 / 1e9
    }

    /// Adds a request with a trace context to the slowest traces when it ends.
    #[inline]
    pub(super) fn trace_ended(&mut self, now_ns: u64, request: &InFlightRequest, status: Option<u16>) {
        if request.trace.is_some() {
            let took_ns = now_ns.saturating_sub(request.start.intended_ns);
            let at_ns = now_ns.saturating_sub(self.origin_ns);
            self.slow_traces.add(took_ns, || Ended::new(request.trace, at_ns, status));
        }
    }

    /// Records the end of a request for its request class, for its address, and as a stream.
    fn ended_in_detail(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest, done: &Done) {
        if !self.classes.is_empty() || !self.addresses.is_empty() {
            let took_ns = self.measuring.then(|| now_ns.saturating_sub(request.start.intended_ns));
            self.classes.ended(request.class, done, took_ns);
            self.addresses.ended(request.address, done, took_ns);
        }
        if let Some(streams) = &mut self.streams {
            let end = match done.outcome {
                Outcome::Expected => StreamEnd::Whole,
                Outcome::Unexpected => StreamEnd::Refused,
                Outcome::Failed(_) => StreamEnd::Lost,
            };
            streams.ended(now_ns, conn, request, done.events, end);
        }
    }

    /// Records the end of a request, with or without an answer.
    #[inline]
    pub(crate) fn ended(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest, done: Done) {
        if self.has_details {
            self.ended_in_detail(now_ns, conn, request, &done);
        }
        let counts = &mut self.counts;
        counts.answer_bytes += done.bytes;
        if let Outcome::Failed(fault) = done.outcome {
            counts.fail(kind_of(fault), 1);
            self.first_failures.failed(fault);
            // An answer with a wrong body has fully arrived, so its first byte came no later than now.
            let is_answer_in_one_piece = request.first_byte_ns == 0 && matches!(fault, Fault::WrongBody(_));
            let first_byte_ns = if is_answer_in_one_piece { now_ns } else { request.first_byte_ns };
            return self.unanswered(now_ns, &InFlightRequest { first_byte_ns, ..*request });
        }
        counts.completed += 1;
        if done.outcome == Outcome::Unexpected {
            counts.unexpected += 1;
            counts.unexpected_statuses.count(done.status);
            self.first_failures.refused(done.status);
        }
        if done.status > 0 {
            counts.status[run::status_class(done.status)] += 1;
        }
        let took_ns = now_ns.saturating_sub(request.start.intended_ns);
        // The time until a refusal is not a response time, so `coarse` and `slot_times` leave refused requests out.
        if done.outcome != Outcome::Unexpected {
            self.coarse[CoarseHist::bucket(took_ns)] += 1;
            self.slot_times.count(request.start.intended_ns.saturating_sub(self.origin_ns), took_ns);
        }
        if self.measuring {
            self.request_carried_in(request);
            self.trace_ended(now_ns, request, Some(done.status));
            self.tenths.count(now_ns.saturating_sub(self.begin.at_ns), took_ns);
            if done.outcome == Outcome::Unexpected {
                if request.first_byte_ns != 0 {
                    self.failed_pieces.get_or_insert_default().refused(took_ns, request);
                }
                return self.refused.record_ns(took_ns);
            }
            self.response.record_ns(took_ns);
            if request.first_byte_ns != 0 {
                self.pieces.record(now_ns, request);
            }
            if let Some(service) = &mut self.service {
                service.record_ns(now_ns.saturating_sub(request.start.sent_ns));
            }
        }
    }
}
