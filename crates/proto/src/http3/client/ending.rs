//! The end of a connection and of single requests: GOAWAY, resets of streams, CONNECTION_CLOSE, and faults.

use quinn_proto::{ConnectionError, StreamId};

use super::ClientSession;
use super::sending::{abandon, cancel};
use super::stream::{Stream, number};
use crate::Fault;
use crate::http2::client::completions::Completions;
use crate::http3::error_codes::{self, REQUEST_REJECTED, shown};
use crate::quic::lost_words;

impl ClientSession {
    /// Handles the reset of a response's stream.
    pub(super) fn stream_reset(&mut self, id: StreamId, code: u64, completions: &mut Completions<'_>) {
        let Some(mut stream) = self.close_stream(id) else { return };
        self.early.take(stream.request);
        let words = || format!("the server reset the stream of the request with {}", shown(code));
        self.ended_by_server.get_or_insert_with(words);
        if let Some(link) = &mut self.link {
            abandon(&mut link.connection, &mut stream);
        }
        self.refusals.end(number(id), false);
        let fault = if code == REQUEST_REJECTED { Fault::StreamRefused } else { Fault::StreamReset };
        completions.fail(stream.request, fault);
    }

    /// Handles GOAWAY: the server accepts no more requests on this connection. Requests that the server did not process
    /// may be sent again on another connection; the server completes the others. If the server processed no request at
    /// all, the connection counts as refused, because new connections would fail, too.
    pub(super) fn heed_goaway(&mut self, completions: &mut Completions<'_>) {
        let Some(first) = self.peer.goaway() else { return };
        self.leaving = true;
        let fault = if first == 0 { Fault::ConnectionRefused } else { Fault::Unprocessed };
        if first == 0 {
            let words = || {
                "the server ends the connection without processing a request (GOAWAY): it may be shutting down"
                    .to_owned()
            };
            self.ended_by_server.get_or_insert_with(words);
        }
        let unprocessed = |stream: &Stream| u64::from(quinn_proto::VarInt::from(stream.id)) >= first;
        while let Some(at) = self.streams.iter().position(unprocessed) {
            let mut stream = self.streams.swap_remove(at);
            if let Some(link) = &mut self.link {
                cancel(&mut link.connection, &mut stream);
            }
            self.early.take(stream.request);
            self.refusals.end(number(stream.id), false);
            completions.fail(stream.request, fault);
        }
        while let Some(waiting) = self.waiting.pop_front() {
            completions.fail(waiting.id, fault);
        }
    }

    /// Handles the end of the connection. Without a request in flight, an established connection ends without a fault.
    pub(super) fn lost(&mut self, reason: &ConnectionError, completions: &mut Completions<'_>) -> Result<(), Fault> {
        let certificate = self.link.as_mut().and_then(|link| link.certificate.take());
        let words = match certificate {
            Some(Err(why)) => why,
            _ => lost_words(reason, shown),
        };
        self.ended_by_server.get_or_insert(words);
        self.leaving = true;
        if !self.connected {
            return Err(Fault::Malformed("the handshake of QUIC failed"));
        }
        self.heed_goaway(completions);
        match reason {
            ConnectionError::TransportError(_) => Err(Fault::Malformed("the server breaks the QUIC protocol")),
            _ if self.is_over() => Ok(()),
            _ => Err(Fault::Short),
        }
    }

    /// Ends all streams, and closes the connection with the error code of the fault.
    pub(super) fn give_up(&mut self, fault: &Fault) {
        self.leaving = true;
        self.streams.clear();
        self.waiting.clear();
        if let Some(link) = self.link.as_mut().filter(|link| !link.connection.is_closed()) {
            link.close(self.now, error_codes::code(fault), "");
        }
    }

    pub(super) fn close_stream(&mut self, id: StreamId) -> Option<Stream> {
        let at = self.streams.iter().position(|stream| stream.id == id)?;
        Some(self.streams.swap_remove(at))
    }
}
