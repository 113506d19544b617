//! Opens streams for requests, and sends as much of the requests as the server's flow control allows.

use quinn_proto::{Connection, Dir, StreamId, VarInt};

use super::ClientSession;
use super::stream::{Stream, number};
use crate::http2::hpack::write_length;
use crate::http2::request::Prepared;
use crate::http3::error_codes::{NO_ERROR, REQUEST_CANCELLED, shown};
use crate::http3::frame;
use crate::{Request, Trace, trace};

impl ClientSession {
    /// Opens streams for waiting requests, and continues with unsent bodies.
    pub(super) fn send_requests(&mut self) {
        if !self.connected && !self.early.is_open {
            return;
        }
        self.send_bodies();
        while !self.leaving && self.waiting.front().is_some_and(|request| self.may_send(request.item)) {
            let Some(link) = &mut self.link else { return };
            let Some(id) = link.connection.streams().open(Dir::Bi) else { return };
            if let Some(request) = self.waiting.pop_front() {
                self.late.opened(request.id);
                self.send_head(id, request);
            }
        }
    }

    /// Sends the headers of a request, and the beginning of its body.
    fn send_head(&mut self, id: StreamId, request: Request) {
        if !self.connected {
            self.early.add(request);
        }
        let Request { id: request, item, trace } = request;
        let Prepared { blocks, body, filled, expect_text, .. } = &self.requests[usize::from(item)];
        if expect_text.is_some() {
            self.body_searches.begin(request);
        }
        let (streams, traced) = (&self.streams, trace.is_some());
        let length = match (&mut self.live, filled) {
            (Some(live), Some(filled)) => live.fill(filled, number(id), |of| {
                streams.iter().any(|stream| number(stream.id) == of && stream.unsent > 0)
            }),
            _ => body.len(),
        };
        let block = match &self.live {
            Some(live) if filled.is_some() => &live.block,
            _ => &blocks.plain,
        };
        let mut added = Vec::new();
        if traced {
            put_trace(&mut added, trace);
        }
        self.scratch.clear();
        frame::write_head(&mut self.scratch, frame::HEADERS, block.len() + added.len());
        self.scratch.extend_from_slice(block);
        self.scratch.extend_from_slice(&added);
        if length > 0 {
            frame::write_head(&mut self.scratch, frame::DATA, length);
        }
        let mut stream = Stream::new(id, request, item, length);
        if let Some(link) = &mut self.link {
            let sent = link.connection.send_stream(id).write(&self.scratch).unwrap_or(0);
            stream.unsent_head.extend_from_slice(&self.scratch[sent..]);
            send_rest(&mut link.connection, &mut stream, body_of(&self.requests, self.live.as_deref(), id, item));
        }
        self.streams.push(stream);
    }

    /// Continues with the requests that were not sent completely.
    fn send_bodies(&mut self) {
        let Some(link) = &mut self.link else { return };
        for stream in self.streams.iter_mut().filter(|stream| !stream.finished) {
            let body = body_of(&self.requests, self.live.as_deref(), stream.id, stream.item);
            send_rest(&mut link.connection, stream, body);
        }
    }

    /// Handles STOP_SENDING, with which the server says that it does not need the rest of the request (section 4.1).
    /// The server may still send its response.
    pub(super) fn stop_sending(&mut self, id: StreamId, code: u64) {
        let Some(link) = &mut self.link else { return };
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == id) {
            abandon(&mut link.connection, stream);
            if code != NO_ERROR {
                let words = || format!("the server stopped reading the request (STOP_SENDING) with {}", shown(code));
                self.stopped_by_server.get_or_insert_with(words);
            }
        }
    }
}

fn body_of<'a>(
    requests: &'a [Prepared],
    live: Option<&'a crate::http2::request_template::TemplateState>,
    id: StreamId,
    item: u16,
) -> &'a [u8] {
    match live {
        Some(live) => live.body(number(id)),
        None => &requests[usize::from(item)].body,
    }
}

/// Sends as much of a request as the flow control of QUIC takes.
fn send_rest(connection: &mut Connection, stream: &mut Stream, body: &[u8]) {
    let mut to = connection.send_stream(stream.id);
    while !stream.unsent_head.is_empty() {
        let Ok(sent) = to.write(&stream.unsent_head) else { return };
        stream.unsent_head.drain(..sent);
    }
    while stream.unsent > 0 {
        let rest = body.get(body.len().saturating_sub(stream.unsent)..).unwrap_or_default();
        let Ok(sent) = to.write(rest) else { return };
        stream.unsent -= sent.min(stream.unsent);
    }
    // The error is ignored, because it means only that the stream has ended already.
    let _ = to.finish();
    stream.finished = true;
}

/// Stops sending the rest of a request.
pub(super) fn abandon(connection: &mut Connection, stream: &mut Stream) {
    if !stream.finished {
        let _ = connection.send_stream(stream.id).reset(VarInt::from_u32(REQUEST_CANCELLED as u32));
    }
    stream.unsent_head.clear();
    (stream.unsent, stream.finished) = (0, true);
}

/// Stops sending the rest of a request, and ignores its response.
pub(super) fn cancel(connection: &mut Connection, stream: &mut Stream) {
    abandon(connection, stream);
    // The error is ignored, because it means only that the response has ended already.
    let _ = connection.recv_stream(stream.id).stop(VarInt::from_u32(REQUEST_CANCELLED as u32));
}

/// Appends the header of a trace context.
fn put_trace(block: &mut Vec<u8>, trace: Trace) {
    (crate::http3::qpack::QPACK.write_name)(block, trace::NAME);
    write_length(block, trace.value().len());
    block.extend_from_slice(&trace.value());
}
