//! Responses: header blocks, bodies, and the result of each request at the end of its response.

use quinn_proto::{ReadError, StreamId};

use super::ClientSession;
use super::sending::abandon;
use super::stream::number;
use crate::http2::client::completions::Completions;
use crate::http2::hpack::MAX_LIST_BYTES;
use crate::http2::outcome::{is_refusal, outcome_of_body, outcome_of_captures, outcome_of_http};
use crate::http2::response_headers::ResponseHeaders;
use crate::http3::error_codes::{INCOMPLETE, PUSHED, UNEXPECTED};
use crate::http3::frame::{self, Piece};
use crate::{Fault, Outcome};

impl ClientSession {
    /// Reads what has arrived of a response.
    pub(super) fn read_answer(&mut self, id: StreamId, completions: &mut Completions<'_>) -> Result<(), Fault> {
        loop {
            let Some(link) = &mut self.link else { return Ok(()) };
            let mut stream = link.connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
            let chunk = chunks.next(usize::MAX);
            // The bytes that were read no longer occupy the connection's flow-control window. The next call of
            // `poll_transmit` reports the free space to the server.
            let _ = chunks.finalize();
            match chunk {
                Ok(Some(chunk)) => self.answer(id, &chunk.bytes)?,
                Ok(None) => return self.end(id, completions),
                Err(ReadError::Blocked) => return Ok(()),
                Err(ReadError::Reset(code)) => {
                    self.stream_reset(id, code.into_inner(), completions);
                    return Ok(());
                }
            }
        }
    }

    /// Handles bytes of a response. If the stream is unknown, its request was given up, so the bytes are dropped.
    pub(super) fn answer(&mut self, id: StreamId, mut bytes: &[u8]) -> Result<(), Fault> {
        let Some(at) = self.streams.iter().position(|stream| stream.id == id) else { return Ok(()) };
        while let Some(piece) = self.streams[at].reader.next(&mut bytes)? {
            match piece.kind {
                frame::DATA => self.data(at, &piece)?,
                frame::HEADERS => self.headers(at, &piece)?,
                frame::PUSH_PROMISE => return Err(PUSHED),
                frame::CANCEL_PUSH | frame::SETTINGS | frame::GOAWAY | frame::MAX_PUSH_ID => return Err(UNEXPECTED),
                // Unknown frames are skipped (section 9).
                _ => {}
            }
        }
        Ok(())
    }

    fn data(&mut self, at: usize, piece: &Piece<'_>) -> Result<(), Fault> {
        let stream = &mut self.streams[at];
        if stream.status == 0 || stream.has_trailers {
            return Err(UNEXPECTED);
        }
        let (body, is_first) = (piece.bytes, stream.body == 0);
        stream.body += body.len() as u64;
        let request = &self.requests[usize::from(stream.item)];
        self.first_answer.body(number(stream.id), body);
        self.refusals.add(number(stream.id), body);
        if request.is_examined {
            if let Some(text) = &request.expect_text {
                self.body_searches.look(stream.request, text, body);
            }
            // The body of an answer with an unexpected status is no stream of events.
            if !is_refusal(stream.status, request) {
                let events = self.events.read(stream.request, is_first, body, piece.ends);
                stream.new_events += events;
                self.has_begun_answers |= events > 0;
            }
        }
        if let Some(live) = &mut self.live {
            live.memory.body(body, &request.capture);
        }
        Ok(())
    }

    /// Handles a piece of a header block. Only header blocks that arrive in several pieces are stored.
    fn headers(&mut self, at: usize, piece: &Piece<'_>) -> Result<(), Fault> {
        let stored = &mut self.streams[at].block;
        if piece.ends && stored.is_empty() {
            return self.block(at, piece.bytes);
        }
        if stored.len() + piece.bytes.len() > MAX_LIST_BYTES {
            return Err(Fault::Limit("headers of HTTP/3 of more than 256 KiB"));
        }
        stored.extend_from_slice(piece.bytes);
        if !piece.ends {
            return Ok(());
        }
        let block = std::mem::take(stored);
        self.block(at, &block)
    }

    /// Handles a complete header block: the headers of a response, or its trailers.
    fn block(&mut self, at: usize, block: &[u8]) -> Result<(), Fault> {
        let says = self.decode(at, block)?;
        if let Some(why) = says.wrong {
            return Err(Fault::Malformed(why));
        }
        let stream = &mut self.streams[at];
        match (stream.status, says.status) {
            (0, 0) => return Err(Fault::Malformed("a response without :status")),
            (0, 101) => return Err(Fault::Malformed("a response of HTTP/3 with the status 101")),
            // Interim responses (status 1xx) are skipped.
            (0, 100..200) => return Ok(()),
            (0, status) => {
                (stream.status, stream.length) = (status, says.length);
                self.first_answer.begins("HTTP/3", number(stream.id), status);
                if is_refusal(status, &self.requests[usize::from(stream.item)]) {
                    self.refusals.begin(number(stream.id));
                }
                self.has_begun_answers = true;
            }
            (_, 0) if !stream.has_trailers => stream.has_trailers = true,
            (_, 0) => return Err(UNEXPECTED),
            _ => return Err(Fault::Malformed("trailers that are none")),
        }
        Ok(())
    }

    /// Decodes the header block of a response. Most blocks have the same bytes as the preceding block. For an unchanged
    /// block, returns the preceding result, unless header values are captured.
    fn decode(&mut self, at: usize, block: &[u8]) -> Result<ResponseHeaders, Fault> {
        let captures = &self.requests[usize::from(self.streams[at].item)].capture;
        let mut memory = self.live.as_deref_mut().and_then(|live| live.hears(captures));
        if memory.is_none() && !self.last_block.is_empty() && self.last_block == block {
            return Ok(self.last);
        }
        let (mut says, first_answer) = (ResponseHeaders::default(), &mut self.first_answer);
        self.decoder.decode(block, |name, value| {
            says.header(name, value);
            first_answer.header(name, value);
            // `:status` must come before all other headers, so the status is known. Values in interim responses and in
            // trailers are not captured.
            if let Some(memory) = memory.as_deref_mut().filter(|_| says.status >= 200) {
                memory.header(name, value, captures);
            }
        })?;
        self.last = says;
        self.last_block.clear();
        self.last_block.extend_from_slice(block);
        Ok(says)
    }

    /// Ends the request on a stream, whose response is complete.
    pub(super) fn end(&mut self, id: StreamId, completions: &mut Completions<'_>) -> Result<(), Fault> {
        let Some(mut stream) = self.close_stream(id) else { return Ok(()) };
        if !stream.reader.is_between_frames() {
            return Err(INCOMPLETE);
        }
        if stream.status == 0 {
            return Err(Fault::Malformed("a response of HTTP/3 ended before its headers"));
        }
        if let Some(link) = self.link.as_mut().filter(|_| !stream.finished) {
            abandon(&mut link.connection, &mut stream);
        }
        if let Some(request) = self.too_early(&stream) {
            self.refusals.end(number(id), false);
            self.first_answer.ends(number(id));
            match self.leaving {
                true => completions.fail(request.id, Fault::Unprocessed),
                false => self.waiting.push_back(request),
            }
            return Ok(());
        }
        let request = &self.requests[usize::from(stream.item)];
        let mut outcome = outcome_of_http(stream.status, stream.length, stream.body, request);
        let mut events = stream.new_events;
        if request.is_examined && outcome != Outcome::Unexpected {
            let (last, is_complete) = self.events.end(stream.request, stream.body == 0);
            events += last;
            let has_text = || self.body_searches.found(stream.request);
            outcome = outcome_of_body(outcome, request, has_text, is_complete);
        }
        outcome = outcome_of_captures(outcome, request, self.live.as_deref_mut());
        self.refusals.end(number(id), outcome == Outcome::Unexpected);
        self.first_answer.ends(number(id));
        self.last_body_bytes = Some(stream.body);
        completions.complete(stream.request, stream.status, outcome, (stream.body, events));
        Ok(())
    }
}
