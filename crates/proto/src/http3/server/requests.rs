//! Requests of one connection: their streams are read, and answered with pages.

use std::sync::Arc;

use quinn_proto::{Connection, ReadError, StreamId, VarInt};

use super::answer::LastHead;
use crate::Fault;
use crate::http1::{Page, Site, decode};
use crate::http2::hpack::MAX_LIST_BYTES;
use crate::http2::request_headers::RequestHeaders;
use crate::http3::error_codes::{INCOMPLETE, MESSAGE_ERROR, NO_ERROR, UNEXPECTED};
use crate::http3::frame::{self, FrameReader, Piece};
use crate::http3::qpack::Decoder;
use crate::pace::Pace;

/// State that the connections of a shard share while one of them reads.
pub(super) struct Reading<'a, S> {
    pub(super) site: &'a S,
    pub(super) decoder: &'a mut Decoder,
    pub(super) headers: &'a mut RequestHeaders,
    pub(super) last_head: &'a mut LastHead,
    /// Called once for each complete request, before its answer is sent.
    pub(super) completed: &'a mut dyn FnMut(),
}

/// One request and its answer.
pub(super) struct RequestStream {
    pub(super) id: StreamId,
    reader: FrameReader,
    /// Beginning of a header block that arrived in several pieces.
    block: Vec<u8>,
    /// True once the headers of the request have arrived.
    begun: bool,
    has_trailers: bool,
    head_only: bool,
    /// Length of the request's body according to its headers, bytes.
    length: Option<u64>,
    /// Number of bytes of the request's body that have arrived.
    body: u64,
    page: Option<Arc<Page>>,
    /// Frames in front of the answer's body that were not passed to QUIC yet.
    unsent_head: Vec<u8>,
    /// Number of bytes of the answer's body that were passed to QUIC.
    sent: usize,
    /// Number of bytes of the answer's body whose DATA frames have begun. The heads of these frames are in
    /// `unsent_head`, or were passed to QUIC.
    framed: usize,
    is_answering: bool,
    /// Times at which parts of the answer's body may be sent; absent if the answer is not a stream of events.
    pace: Option<Pace>,
}

impl RequestStream {
    pub(super) fn new(id: StreamId) -> Self {
        Self {
            id,
            reader: FrameReader::default(),
            block: Vec::new(),
            begun: false,
            has_trailers: false,
            head_only: false,
            length: None,
            body: 0,
            page: None,
            unsent_head: Vec::new(),
            sent: 0,
            framed: 0,
            is_answering: false,
            pace: None,
        }
    }

    /// Reads what has arrived of the request. Returns false if the stream has ended without an answer.
    pub(super) fn read<S: Site>(
        &mut self,
        connection: &mut Connection,
        reading: &mut Reading<'_, S>,
    ) -> Result<bool, Fault> {
        loop {
            let mut stream = connection.recv_stream(self.id);
            let Ok(mut chunks) = stream.read(true) else { return Ok(true) };
            let chunk = chunks.next(usize::MAX);
            // The bytes that were read no longer occupy the connection's flow-control window. The next call of
            // `poll_transmit` reports the free space to the client.
            let _ = chunks.finalize();
            match chunk {
                Ok(Some(chunk)) => {
                    if self.arrived(&chunk.bytes, reading)? {
                        continue;
                    }
                }
                Ok(None) => {
                    if self.ended(reading)? {
                        return Ok(true);
                    }
                }
                Err(ReadError::Reset(_)) => {}
                Err(ReadError::Blocked) => return Ok(true),
            }
            self.refuse(connection);
            return Ok(false);
        }
    }

    /// Begins the answer to a request whose stream has ended. Returns false if the request is malformed: it has no
    /// headers, or its body is not as long as the headers say (section 4.1.2).
    pub(super) fn ended<S: Site>(&mut self, reading: &mut Reading<'_, S>) -> Result<bool, Fault> {
        if !self.reader.is_between_frames() {
            return Err(INCOMPLETE);
        }
        if !self.begun || self.length.is_some_and(|length| length != self.body) {
            return Ok(false);
        }
        (reading.completed)();
        self.answer(reading);
        Ok(true)
    }

    /// Resets the stream of a malformed request.
    fn refuse(&self, connection: &mut Connection) {
        // The error is ignored, because it means only that the stream has ended already.
        let _ = connection.recv_stream(self.id).stop(VarInt::from_u32(MESSAGE_ERROR as u32));
        let _ = connection.send_stream(self.id).reset(VarInt::from_u32(MESSAGE_ERROR as u32));
    }

    /// Reads the next bytes of the request. Returns false if the request is malformed.
    pub(super) fn arrived<S: Site>(&mut self, mut bytes: &[u8], reading: &mut Reading<'_, S>) -> Result<bool, Fault> {
        while let Some(piece) = self.reader.next(&mut bytes)? {
            match piece.kind {
                frame::DATA if self.begun && !self.has_trailers => self.body += piece.bytes.len() as u64,
                frame::HEADERS => self.headers(&piece, reading)?,
                frame::DATA
                | frame::CANCEL_PUSH
                | frame::SETTINGS
                | frame::PUSH_PROMISE
                | frame::GOAWAY
                | frame::MAX_PUSH_ID => return Err(UNEXPECTED),
                // Unknown frames are skipped (section 9).
                _ => {}
            }
            if self.begun && self.page.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Handles a piece of a header block. Only header blocks that arrive in several pieces are stored.
    fn headers<S: Site>(&mut self, piece: &Piece<'_>, reading: &mut Reading<'_, S>) -> Result<(), Fault> {
        if self.has_trailers {
            return Err(UNEXPECTED);
        }
        if piece.ends && self.block.is_empty() {
            return self.block(piece.bytes, reading);
        }
        if self.block.len() + piece.bytes.len() > MAX_LIST_BYTES {
            return Err(Fault::Limit("headers of HTTP/3 of more than 256 KiB"));
        }
        self.block.extend_from_slice(piece.bytes);
        if !piece.ends {
            return Ok(());
        }
        let block = std::mem::take(&mut self.block);
        self.block(&block, reading)
    }

    /// Handles a complete header block: the headers of the request, or its trailers. Malformed headers get no page.
    fn block<S: Site>(&mut self, block: &[u8], reading: &mut Reading<'_, S>) -> Result<(), Fault> {
        let headers = &mut *reading.headers;
        headers.begin();
        reading.decoder.decode(block, |name, value| headers.header(name, value))?;
        if self.begun {
            self.has_trailers = true;
            if !headers.can_be_trailers() {
                self.page = None;
            }
            return Ok(());
        }
        self.begun = true;
        (self.length, self.head_only) = (headers.length, headers.method == b"HEAD");
        self.page = headers.is_right().then(|| page(reading.site, headers));
        Ok(())
    }

    /// Prepares the answer, whose request is complete. Each event of a stream gets a DATA frame of its own, once it is
    /// due.
    fn answer<S: Site>(&mut self, reading: &mut Reading<'_, S>) {
        let Some(page) = &self.page else { return };
        self.unsent_head.extend_from_slice(reading.last_head.of(page, reading.site.now_s()));
        let length = self.answer_body().len();
        self.pace = if length > 0 { reading.site.pace() } else { None };
        if length > 0 && self.pace.is_none() {
            frame::write_head(&mut self.unsent_head, frame::DATA, length);
            self.framed = length;
        }
        self.is_answering = true;
    }

    /// Passes as much of the answer to QUIC as the client's flow control and the times of its events allow. Returns
    /// true if the answer is complete, or if the client does not want the rest.
    pub(super) fn send(&mut self, connection: &mut Connection) -> bool {
        if !self.is_answering {
            return false;
        }
        let mut to = connection.send_stream(self.id);
        loop {
            let written = if !self.unsent_head.is_empty() {
                to.write(&self.unsent_head).map(|sent| drop(self.unsent_head.drain(..sent)))
            } else if self.sent < self.framed {
                to.write(&self.answer_body()[self.sent..self.framed]).map(|sent| self.sent += sent)
            } else if self.sent == self.answer_body().len() {
                let _ = to.finish();
                return true;
            } else if self.begins_event() {
                Ok(())
            } else {
                return false;
            };
            match written {
                Ok(()) => {}
                Err(quinn_proto::WriteError::Blocked) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Returns the body of the answer, which is empty for HEAD.
    fn answer_body(&self) -> &[u8] {
        match &self.page {
            Some(page) if !self.head_only => page.body(),
            _ => &[],
        }
    }

    /// Begins the DATA frame of the next event. Returns false if the event is not due yet.
    fn begins_event(&mut self) -> bool {
        let Some(pace) = &self.pace else { return false };
        let bytes = pace.allowed(self.sent).min(self.answer_body().len() - self.sent);
        if bytes == 0 {
            return false;
        }
        frame::write_head(&mut self.unsent_head, frame::DATA, bytes);
        self.framed += bytes;
        true
    }

    /// Returns the time of the event for which the rest of the answer waits, nanoseconds; `None` if the answer waits
    /// for none.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let waits = self.unsent_head.is_empty() && self.sent == self.framed;
        self.pace.as_ref().filter(|_| waits)?.due_ns(self.sent)
    }

    /// Handles STOP_SENDING of the client.
    pub(super) fn stop(&self, connection: &mut Connection) {
        let _ = connection.send_stream(self.id).reset(VarInt::from_u32(NO_ERROR as u32));
    }
}

fn page<S: Site>(site: &S, headers: &RequestHeaders) -> Arc<Page> {
    if let Some(refused) = site.refuse() {
        return refused;
    }
    let text = |bytes| std::str::from_utf8(bytes).ok();
    match (text(&headers.method), text(&headers.path).and_then(decode)) {
        (Some(name), Some(path)) => site.find(name, &path),
        _ => site.plain(400),
    }
}
