//! Requests that were sent as early data, and their counts.

use crate::http2::request::Prepared;
use crate::{EarlyData, Request};

/// Returns true if a request may be sent as early data. If values are filled into the request, sending it twice would
/// use up values that the server never sees.
pub(super) fn may_be_early(request: &Prepared) -> bool {
    request.is_safe && request.filled.is_none()
}

/// Early data of one connection.
#[derive(Debug, Default)]
pub(super) struct EarlyRequests {
    /// True until the handshake ends, if the connection takes early data.
    pub(super) is_open: bool,
    /// Requests that were sent as early data and have no complete answer.
    pub(super) sent: Vec<Request>,
    /// Counts of early requests since the counts were last taken.
    pub(super) counts: EarlyData,
}

impl EarlyRequests {
    /// Records that a request was sent as early data.
    pub(super) fn add(&mut self, request: Request) {
        self.sent.push(request);
    }

    /// Removes a request that has ended. Returns `None` if the request was not sent as early data.
    pub(super) fn take(&mut self, id: u16) -> Option<Request> {
        let at = self.sent.iter().position(|request| request.id == id)?;
        Some(self.sent.swap_remove(at))
    }

    /// Returns the counts since the last call.
    pub(super) fn take_counts(&mut self) -> EarlyData {
        std::mem::take(&mut self.counts)
    }

    /// Prepares this state for a new connection, but keeps the counts of early requests.
    pub(super) fn reset(&mut self) {
        self.is_open = false;
        self.sent.clear();
    }
}
