//! Requests that were not answered within the measured window. Unanswered requests have failed, or were in flight at
//! the start or the end of the measured window.

use std::ops::Range;

use run::{CoarseHist, ErrorKind, UnansweredTimes};

use super::Record;
use super::streams::StreamEnd;
use crate::class_times::rounded;
use crate::core::InFlightRequest;

impl Record {
    /// Records a request that failed because its connection failed.
    pub(crate) fn failed(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest) {
        if let Some(streams) = &mut self.streams {
            streams.ended(now_ns, conn, request, 0, StreamEnd::Lost);
        }
        self.classes.failed(request.class);
        self.addresses.failed(request.address);
        self.unanswered(now_ns, request);
    }

    /// Records a request whose answer came after the timeout, with `bytes` bytes. The request counts as failed, but its
    /// connection continues.
    pub(crate) fn timed_out(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest, bytes: u64) {
        self.counts.answer_bytes += bytes;
        self.counts.fail(ErrorKind::ResponseTimeout, 1);
        self.failed(now_ns, conn, request);
    }

    /// Records that a request whose intended start was `intended_ns` will never be answered.
    pub(crate) fn never_answered(&mut self, now_ns: u64, intended_ns: u64) {
        self.slot_times.count_unanswered(intended_ns.saturating_sub(self.origin_ns));
        self.coarse_unanswered[CoarseHist::bucket(now_ns.saturating_sub(intended_ns))] += 1;
        if self.measuring {
            self.unanswered.record_ns(now_ns.saturating_sub(intended_ns));
            self.tenths.count_unanswered(now_ns.saturating_sub(self.begin.at_ns));
            self.carry_in(intended_ns);
        }
    }

    /// Records that a started request will never be answered.
    pub(super) fn unanswered(&mut self, now_ns: u64, request: &InFlightRequest) {
        self.never_answered(now_ns, request.start.intended_ns);
        if self.measuring {
            self.trace_ended(now_ns, request, None);
            let from_start = |start_ns: u64| rounded(now_ns.saturating_sub(start_ns));
            self.each_time(request, |times, start_ns| *times.failed.entry(from_start(start_ns)).or_default() += 1);
            self.carry_in_others(request);
            self.carry_in_begun(request);
            if request.first_byte_ns != 0 {
                let age_ns = now_ns.saturating_sub(request.start.intended_ns);
                self.failed_pieces.get_or_insert_default().failed(age_ns, request);
            }
        }
    }

    /// Records a started request that is in flight at the end of the measured window.
    pub(crate) fn request_under_way(&mut self, now_ns: u64, request: &InFlightRequest) {
        self.still_under_way(now_ns, request.start.intended_ns);
        if let Some(streams) = self.streams.as_mut().filter(|_| !request.has_events) {
            streams.waits_for_first(now_ns, request);
        }
        let age = |start_ns: u64| rounded(now_ns.saturating_sub(start_ns));
        self.each_time(request, |times, start_ns| *times.under_way.entry(age(start_ns)).or_default() += 1);
        self.carry_in_others(request);
        if request.first_byte_ns != 0 {
            let (begun, intended_ns) = (self.begun.get_or_insert_default(), request.start.intended_ns);
            match ages_at_edges(self.begin.at_ns..now_ns, intended_ns) {
                Some(ages_ns) => begun.add(ages_ns),
                None => begun.under_way.record_ns(now_ns.saturating_sub(intended_ns)),
            }
        }
    }

    /// Records the age of a request without a complete answer at the end of the measured window. The request was sent,
    /// or still waits to be sent.
    pub(crate) fn still_under_way(&mut self, now_ns: u64, intended_ns: u64) {
        self.under_way.record_ns(now_ns.saturating_sub(intended_ns));
        self.carry_in(intended_ns);
    }

    /// At the end of the drain, records a request that was in flight during the whole window and is still unanswered.
    /// The unanswered request counts as a failure within the measured window. If only the ages at both ends of the
    /// window were recorded, some percentiles would leave the request out.
    pub(crate) fn hung(&mut self, intended_ns: u64) {
        let Some(ages) = ages_at_edges(self.edges_ns(), intended_ns) else { return };
        self.unanswered.record_ns(ages.end);
        self.hung.get_or_insert_default().add(ages);
    }

    /// Records a started request as [`Record::hung`] does. Also records the times for the request's class, and the
    /// times measured from the send.
    pub(crate) fn request_hung(&mut self, request: &InFlightRequest) {
        self.hung(request.start.intended_ns);
        let edges_ns = self.edges_ns();
        let ages_ns = ages_at_edges(edges_ns.clone(), request.start.intended_ns);
        if let Some(ages_ns) = ages_ns.filter(|_| request.first_byte_ns != 0) {
            self.failed_pieces.get_or_insert_default().failed(ages_ns.end, request);
            self.hung_begun.get_or_insert_default().add(ages_ns);
        }
        self.each_time(request, |times, start_ns| {
            let Some(ages) = ages_at_edges(edges_ns.clone(), start_ns) else { return };
            *times.failed.entry(rounded(ages.end)).or_default() += 1;
            // Adds each age to the histogram of the other end of the measured window (`carried_in` or `under_way`). The
            // ages of a request that hangs cancel out, so that the request counts only as failed.
            *times.carried_in.entry(rounded(ages.end)).or_default() += 1;
            *times.under_way.entry(rounded(ages.start)).or_default() += 1;
        });
    }

    /// Removes the recorded ages of hung requests, because these requests count as failures.
    pub(super) fn take_back_hung(&mut self) {
        if let Some(hung) = self.hung.take() {
            self.under_way.take_back(&hung.under_way);
            self.carried_in.take_back(&hung.carried_in);
        }
        if let (Some(begun), Some(hung)) = (&mut self.begun, self.hung_begun.take()) {
            begun.take_back(&hung);
        }
    }

    /// Returns the start and the end of the measured window. The range is empty if the measured window has not ended.
    fn edges_ns(&self) -> Range<u64> {
        self.begin.at_ns..self.end.map_or(0, |end| end.at_ns)
    }

    /// If an answered request was in flight at the start of the measured window, records how old the request was at
    /// that time.
    #[inline]
    pub(super) fn request_carried_in(&mut self, request: &InFlightRequest) {
        self.carry_in(request.start.intended_ns);
        if request.start.intended_ns < self.begin.at_ns {
            self.carry_in_others(request);
            self.carry_in_begun(request);
        }
    }

    /// If the first byte of a request's answer came before the measured window, records the request's age at the start
    /// of the window.
    fn carry_in_begun(&mut self, request: &InFlightRequest) {
        if (1..self.begin.at_ns).contains(&request.first_byte_ns) {
            let age_ns = self.begin.at_ns.saturating_sub(request.start.intended_ns);
            self.begun.get_or_insert_default().carried_in.record_ns(age_ns);
        }
    }

    /// If the intended start of a request was before the measured window, records the age of the request at the start
    /// of the window.
    #[inline]
    fn carry_in(&mut self, intended_ns: u64) {
        if intended_ns < self.begin.at_ns {
            self.carried_in.record_ns(self.begin.at_ns - intended_ns);
        }
    }

    /// Records two ages of a request at the start of the measured window: one for its request class, and one measured
    /// from its send.
    fn carry_in_others(&mut self, request: &InFlightRequest) {
        let begin_ns = self.begin.at_ns;
        self.each_time(request, |times, start_ns| {
            if start_ns < begin_ns {
                *times.carried_in.entry(rounded(begin_ns - start_ns)).or_default() += 1;
            }
        });
    }

    /// Calls `record` for the response times of the request's class, with the time at which the request was due. Also
    /// calls `record` for the service times, with the time at which the request was sent.
    fn each_time(&mut self, request: &InFlightRequest, record: impl Fn(&mut UnansweredTimes, u64)) {
        if let Some(times) = self.classes.unanswered(request.class) {
            record(times, request.start.intended_ns);
        }
        record(&mut self.service_unanswered, request.start.sent_ns);
    }
}

/// Returns the ages of a request at the start and the end of a window, in nanoseconds. Returns `None` if the request
/// started within the measured window or later, or if the window is empty.
fn ages_at_edges(edges_ns: Range<u64>, start_ns: u64) -> Option<Range<u64>> {
    let is_carried_through = start_ns < edges_ns.start && !edges_ns.is_empty();
    is_carried_through.then(|| edges_ns.start - start_ns..edges_ns.end - start_ns)
}
