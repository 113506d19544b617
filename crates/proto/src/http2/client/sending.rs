//! Sends settings at the start, and then as many requests as the server accepts. The flow-control windows limit the
//! number of sent bytes of request bodies.

use super::{ClientSession, Table};
use crate::http2::flow::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::http2::frame;
use crate::http2::header_block::MAX_BLOCK_BYTES;
use crate::http2::hpack::{write_length, write_name};
use crate::http2::request::Prepared;
use crate::http2::stream::Stream;
use crate::{Request, Trace, trace};

/// Number of unsent bytes at which the send buffer is full: no more requests and bodies are added.
const FILL_BYTES: usize = 16 * 1024;

impl ClientSession {
    /// Writes the preface, our settings, and the flow-control window of the connection.
    pub(super) fn greet(&mut self) {
        let to = self.outgoing.end();
        to.extend_from_slice(frame::PREFACE);
        let settings = [
            (frame::ENABLE_PUSH, 0),
            (frame::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (frame::MAX_HEADER_LIST_SIZE, MAX_BLOCK_BYTES as u32),
        ];
        frame::write_settings(to, &settings);
        frame::write(to, frame::WINDOW_UPDATE, 0, 0, &(CONNECTION_WINDOW - 65_535).to_be_bytes());
    }

    /// Returns true if a waiting request may open a stream now.
    pub(super) fn opens(&self) -> bool {
        self.settled && !self.leaving && !self.waiting.is_empty() && (self.streams.len() as u32) < self.max_streams
    }

    /// Writes new requests, and as many bytes of bodies as the windows allow, into the send buffer.
    pub(super) fn fill(&mut self) {
        while self.outgoing.waiting() < FILL_BYTES {
            if self.opens() {
                self.open_stream();
            } else if let Some(at) = self.streams.next_to_send(&self.sending) {
                let (requests, live) = (&self.requests, self.live.as_deref());
                let body = |number: u32, item: u16| match live {
                    Some(live) => live.body(number),
                    None => &*requests[usize::from(item)].body,
                };
                self.streams.send_body(at, body, &mut self.sending, self.outgoing.end());
            } else {
                return;
            }
        }
    }

    fn open_stream(&mut self) {
        let Some(Request { id, item, trace }) = self.waiting.pop_front() else { return };
        self.late.opened(id);
        let number = self.next_stream;
        self.next_stream += 2;
        let Prepared { blocks, body, filled, expect_text, .. } = &self.requests[usize::from(item)];
        if expect_text.is_some() {
            self.body_searches.begin(id);
        }
        if let (Some(live), Some(filled)) = (&mut self.live, filled) {
            let streams = &self.streams;
            let length = live.fill(filled, number, |number| streams.has_unsent(number));
            put_trace(&mut live.block, trace);
            let flags = if length == 0 { frame::END_STREAM } else { 0 };
            frame::write_block(self.outgoing.end(), number, flags, &live.block);
            return self.streams.open(Stream::new(number, (id, item), length, self.sending.initial));
        }
        let block = match self.table {
            // With several different requests, the peer's table is not used, because the entries of one request do not
            // fit the others.
            _ if self.requests.len() > 1 => &blocks.plain,
            Table::Empty => &blocks.first,
            Table::Filled => &blocks.later,
            Table::None => &blocks.plain,
        };
        if self.table == Table::Empty {
            self.table = Table::Filled;
        }
        let flags = if body.is_empty() { frame::END_STREAM } else { 0 };
        let block = if trace.is_some() {
            self.traced_block.clear();
            self.traced_block.extend_from_slice(block);
            put_trace(&mut self.traced_block, trace);
            &self.traced_block
        } else {
            block
        };
        frame::write_block(self.outgoing.end(), number, flags, block);
        self.streams.open(Stream::new(number, (id, item), body.len(), self.sending.initial));
    }
}

/// Appends the header of a trace context as a literal that the peer does not store in its table.
fn put_trace(block: &mut Vec<u8>, trace: Trace) {
    if trace.is_some() {
        write_name(block, trace::NAME);
        write_length(block, trace.value().len());
        block.extend_from_slice(&trace.value());
    }
}
