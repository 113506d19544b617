//! Times of answers that arrived in several pieces, so that the first byte came before the last. If an answer arrives
//! in one piece, its first and last byte arrive at the same moment, and nothing is recorded here. Most loads have only
//! answers that arrive in one piece.

use run::Hist;

use crate::core::InFlightRequest;

/// Times of expected answers that arrived in several pieces within the measured window.
#[derive(Debug)]
pub(super) struct PieceTimes {
    /// Response times, which are also in the record's histogram of all response times.
    response: Hist,
    /// Times until the first byte. The time to a first byte is counted from the same moment as the response time of its
    /// request.
    first_byte: Hist,
    /// Times from the send of a request to the last byte of its answer, and to the first byte. `None` if these times
    /// equal `response` and `first_byte`.
    sent: Option<SentTimes>,
    /// Times from the first byte to the last.
    transfer: Hist,
}

/// Times that start with the send of a request.
#[derive(Debug)]
struct SentTimes {
    service: Hist,
    wait: Hist,
}

impl PieceTimes {
    /// Creates the empty record. `service` is true if service times are recorded apart from response times.
    pub(super) fn new(service: bool) -> Self {
        let sent = service.then(|| SentTimes { service: Hist::new(), wait: Hist::new() });
        Self { response: Hist::new(), first_byte: Hist::new(), sent, transfer: Hist::new() }
    }

    /// From now on, records the times that start with the send separately. All times that were recorded so far started
    /// with the send.
    pub(super) fn record_service(&mut self) {
        self.sent = Some(SentTimes { service: self.response.clone(), wait: self.first_byte.clone() });
    }

    /// Records an answer whose last byte arrived at `now_ns`, and whose first byte arrived earlier.
    pub(super) fn record(&mut self, now_ns: u64, request: &InFlightRequest) {
        let (start, first_ns) = (&request.start, request.first_byte_ns);
        self.response.record_ns(now_ns.saturating_sub(start.intended_ns));
        self.first_byte.record_ns(first_ns.saturating_sub(start.intended_ns));
        self.transfer.record_ns(now_ns.saturating_sub(first_ns));
        if let Some(sent) = &mut self.sent {
            sent.service.record_ns(now_ns.saturating_sub(start.sent_ns));
            sent.wait.record_ns(first_ns.saturating_sub(start.sent_ns));
        }
    }

    /// Removes all recorded times.
    pub(super) fn clear(&mut self) {
        [&mut self.response, &mut self.first_byte, &mut self.transfer].into_iter().for_each(Hist::clear);
        self.sent.iter_mut().flat_map(|sent| [&mut sent.service, &mut sent.wait]).for_each(Hist::clear);
    }

    /// Returns the histograms of all answers, with their names. The histograms `response` and `service` cover all
    /// answers.
    pub(super) fn into_hists(self, response: &Hist, service: &Hist) -> [(&'static str, Hist); 3] {
        let in_one_piece = response.len().saturating_sub(self.response.len());
        let mut transfer = self.transfer;
        transfer.record_many_ns(0, in_one_piece);
        let first_byte = replaced(response, &self.response, &self.first_byte);
        let wait = match &self.sent {
            Some(sent) => replaced(service, &sent.service, &sent.wait),
            None => first_byte.clone(),
        };
        [("first_byte", first_byte), ("wait", wait), ("transfer", transfer)]
    }
}

/// Returns the histogram `all` with the times in `some` replaced by the times in `others`.
fn replaced(all: &Hist, some: &Hist, others: &Hist) -> Hist {
    let mut result = all.clone();
    if !some.is_empty() {
        result.take_back(some);
        result.merge(others);
    }
    result
}
