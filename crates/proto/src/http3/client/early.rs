//! Early data (0-RTT): requests in the first packets of a resumed connection, before the handshake is complete.
//! Sources: RFC 8446, section 2.3; RFC 9001, section 4.6; RFC 8470 for HTTP.
//!
//! QUIC remembers the server's limits of the earlier connection. The settings of HTTP/3 need not be remembered (RFC
//! 9114, section 7.2.4.2), because no request depends on a setting of the server. A server may reject early data as a
//! whole, and may answer single requests with status 425 (Too Early). If the server rejects early data or answers with
//! status 425, the session sends the requests again.

use super::ClientSession;
use super::early_requests::may_be_early;
use super::stream::Stream;
use crate::{Fault, Request};

/// Status of an answer to a request that the server does not process as early data (RFC 8470, section 5.2).
const TOO_EARLY: u16 = 425;

impl ClientSession {
    /// Begins early data on a new connection, if there is a session to resume whose server takes early data.
    pub(super) fn begin_early(&mut self) -> Result<(), Fault> {
        if self.link.as_ref().is_some_and(|link| link.connection.has_0rtt()) {
            self.early.is_open = true;
            self.open_control_stream()?;
        }
        Ok(())
    }

    /// Ends early data, because the handshake is complete. If the server rejected early data, opens the control stream
    /// again and queues the requests again, in their old order.
    pub(super) fn end_early(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.early.is_open) {
            return self.open_control_stream();
        }
        if self.link.as_ref().is_some_and(|link| link.connection.accepted_0rtt()) {
            self.early.counts.handshakes += 1;
            self.early.counts.requests += self.early.sent.len() as u64;
            return Ok(());
        }
        // QUIC has forgotten all streams that were opened so far.
        self.streams.clear();
        self.early.counts.resent += self.early.sent.len() as u64;
        self.early.sent.drain(..).rev().for_each(|request| self.waiting.push_front(request));
        self.open_control_stream()
    }

    /// Returns true if the request with the index `item` may be sent now.
    pub(super) fn may_send(&self, item: u16) -> bool {
        self.connected || self.early.is_open && self.requests.get(usize::from(item)).is_some_and(may_be_early)
    }

    /// If the server answered a request of early data with status 425, returns the request, so that it can be sent
    /// again.
    pub(super) fn too_early(&mut self, stream: &Stream) -> Option<Request> {
        let request = self.early.take(stream.request)?;
        let is_expected = self.requests[usize::from(stream.item)].expected.takes(TOO_EARLY);
        if stream.status != TOO_EARLY || is_expected {
            return None;
        }
        self.early.counts.resent += 1;
        Some(request)
    }
}
