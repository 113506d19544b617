//! Times to the first byte of requests that got no good answer, although the first byte of an answer came. The answer
//! had an unexpected status and arrived in several pieces, was never complete, or was wrong.

use run::Hist;

use crate::core::InFlightRequest;

/// Times of requests without a good answer whose first byte came before their end, in the measured window.
#[derive(Debug, Default)]
pub(super) struct FailedPieces {
    /// Times until the failure, which are also in the record's histogram of all failures.
    unanswered: Hist,
    /// Times until the last byte of an answer with an unexpected status, which are also in the record's histogram of
    /// all refusals.
    refused: Hist,
    /// Times until the first byte of these requests, counted from the start of their response times.
    first_byte: Hist,
}

impl FailedPieces {
    /// Records a request that failed after `age_ns`, although the first byte of its answer had come.
    pub(super) fn failed(&mut self, age_ns: u64, request: &InFlightRequest) {
        self.unanswered.record_ns(age_ns);
        self.begun(request);
    }

    /// Records an answer with an unexpected status whose last byte came after `took_ns`, and whose first byte came
    /// earlier.
    pub(super) fn refused(&mut self, took_ns: u64, request: &InFlightRequest) {
        self.refused.record_ns(took_ns);
        self.begun(request);
    }

    fn begun(&mut self, request: &InFlightRequest) {
        self.first_byte.record_ns(request.first_byte_ns.saturating_sub(request.start.intended_ns));
    }

    /// Returns the histograms with their names.
    pub(super) fn into_hists(self) -> [(&'static str, Hist); 3] {
        [
            ("unanswered_begun", self.unanswered),
            ("refused_begun", self.refused),
            ("first_byte_no_good_answer", self.first_byte),
        ]
    }
}
