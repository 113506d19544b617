//! Streams of the HTTP/2 client, each with a request in flight.

use super::flow::{Received, Sending};
use super::frame::{self, MAX_PAYLOAD};
use super::stream_list::{AnyStream, StreamList};
use crate::grpc_messages::Messages;

/// One request and its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) number: u32,
    /// ID of the request.
    pub(super) id: u16,
    /// Index of the request in the set.
    pub(super) item: u16,
    /// Status of the response; 0 before it arrives.
    pub(super) status: u16,
    /// gRPC status; absent before it arrives.
    pub(super) grpc: Option<u16>,
    /// Length of the response's body according to its headers, bytes.
    pub(super) length: Option<u64>,
    /// Number of bytes of the response's body so far.
    pub(super) body: u64,
    /// gRPC messages in the body.
    pub(super) messages: Messages,
    /// True if compressed messages are compressed with gzip.
    pub(super) is_gzip: bool,
    /// Number of events of the response that were found since the last report to the caller.
    pub(super) new_events: u32,
    pub(super) received: Received,
    /// Number of bytes of the request's body that were not sent yet.
    unsent: usize,
    window: i64,
}

impl Stream {
    pub(super) const fn new(number: u32, (id, item): (u16, u16), unsent: usize, window: i64) -> Self {
        Self {
            number,
            id,
            item,
            status: 0,
            grpc: None,
            length: None,
            body: 0,
            messages: Messages::NONE,
            is_gzip: false,
            new_events: 0,
            received: Received::stream(),
            unsent,
            window,
        }
    }

    pub(super) const fn is_sent(&self) -> bool {
        self.unsent == 0
    }
}

impl AnyStream for Stream {
    fn number(&self) -> u32 {
        self.number
    }

    fn window(&mut self) -> &mut i64 {
        &mut self.window
    }
}

/// The streams of a client.
pub(super) type Streams = StreamList<Stream>;

impl Streams {
    /// Returns true if stream `number` is open and a part of its request's body is unsent.
    pub(super) fn has_unsent(&self, number: u32) -> bool {
        self.0.iter().any(|stream| stream.number == number && !stream.is_sent())
    }

    pub(super) fn close(&mut self, number: u32) -> Option<Stream> {
        let at = self.0.iter().position(|stream| stream.number == number)?;
        Some(self.0.swap_remove(at))
    }

    /// Removes one stream whose ID is above `last`.
    pub(super) fn close_after(&mut self, last: u32) -> Option<Stream> {
        let at = self.0.iter().position(|stream| stream.number > last)?;
        Some(self.0.swap_remove(at))
    }

    /// Returns the index of a stream on which more of the request's body may be sent; `None` if there is none.
    pub(super) fn next_to_send(&self, sending: &Sending) -> Option<usize> {
        if sending.window <= 0 {
            return None;
        }
        self.0.iter().position(|stream| stream.unsent > 0 && stream.window > 0)
    }

    /// Appends one DATA frame with a part of a request's body.
    pub(super) fn send_body<'a>(
        &mut self,
        at: usize,
        body: impl FnOnce(u32, u16) -> &'a [u8],
        sending: &mut Sending,
        to: &mut Vec<u8>,
    ) {
        let Some(stream) = self.0.get_mut(at) else { return };
        let body = body(stream.number, stream.item);
        let most = stream.window.min(sending.window).max(0) as usize;
        let n = stream.unsent.min(most).min(MAX_PAYLOAD);
        let from = body.len().saturating_sub(stream.unsent);
        stream.unsent -= n;
        stream.window -= n as i64;
        sending.window -= n as i64;
        let flags = if stream.unsent == 0 { frame::END_STREAM } else { 0 };
        frame::write(to, frame::DATA, flags, stream.number, &body[from..from + n]);
    }
}
