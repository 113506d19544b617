//! Responses: header blocks, bodies, and the result of each request at the end of its response.

use super::ClientSession;
use super::completions::Completions;
use super::refusals::MAX_MESSAGE;
use crate::http2::error_codes::ENDED;
use crate::http2::frame::{self, FrameHeader};
use crate::http2::outcome::{is_refusal, outcome_of_body, outcome_of_captures, outcome_of_response};
use crate::http2::response_headers::ResponseHeaders;
use crate::{Fault, Outcome};

impl ClientSession {
    /// Returns true if this client has ever opened the stream.
    pub(super) const fn was_opened(&self, stream: u32) -> bool {
        stream % 2 == 1 && stream < self.next_stream
    }

    /// Handles a piece of a DATA frame. `body` is the piece without padding, `length` is its size with padding, and
    /// `ends` is true for the last piece of the frame.
    pub(super) fn data(
        &mut self,
        head: &FrameHeader,
        body: &[u8],
        length: usize,
        ends: bool,
        completions: &mut Completions<'_>,
    ) -> Result<(), Fault> {
        if !self.was_opened(head.stream) {
            return Err(Fault::Malformed("DATA on a stream that was not opened"));
        }
        self.received.take(length)?;
        let stream = self.streams.find(head.stream).ok_or(ENDED)?;
        if stream.status == 0 {
            return Err(Fault::Malformed("DATA before the headers of the response"));
        }
        let is_first = stream.body == 0;
        stream.body += body.len() as u64;
        let request = &self.requests[usize::from(stream.item)];
        if request.grpc {
            stream.messages.read(body, || ());
        }
        self.first_answer.body(head.stream, body);
        self.refusals.add(head.stream, body);
        if request.is_examined {
            if let Some(text) = &request.expect_text {
                self.body_searches.look(stream.id, text, body);
            }
            // If the status of an answer is unexpected, its body is not read as a stream of events.
            if !is_refusal(stream.status, request) {
                let events = self.events.read(stream.id, is_first, body, ends);
                stream.new_events += events;
                self.has_begun_answers |= events > 0;
            }
        }
        if let Some(live) = &mut self.live {
            live.memory.body(body, &request.capture);
        }
        stream.received.take(length)?;
        stream.received.give_back(self.outgoing.end(), head.stream);
        if ends && head.has(frame::END_STREAM) {
            self.end(head.stream, completions);
        }
        Ok(())
    }

    pub(super) fn headers(
        &mut self,
        head: &FrameHeader,
        payload: &[u8],
        completions: &mut Completions<'_>,
    ) -> Result<(), Fault> {
        const WRONG: Fault = Fault::Malformed("HEADERS of HTTP/2 are wrong");
        if !self.was_opened(head.stream) {
            return Err(WRONG);
        }
        let mut block = payload.get(frame::unpadded(head, payload).ok_or(WRONG)?).ok_or(WRONG)?;
        if head.has(frame::PRIORITY) {
            block = block.get(5..).ok_or(WRONG)?;
        }
        if head.has(frame::END_HEADERS) {
            return self.block(head, block, completions);
        }
        self.header_block.begin(head, block);
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        payload: &[u8],
        last: bool,
        completions: &mut Completions<'_>,
    ) -> Result<(), Fault> {
        let Some((began, block)) = self.header_block.append_frame(payload, last)? else { return Ok(()) };
        let read = self.block(&began, &block, completions);
        self.header_block.give_back(block);
        read
    }

    /// Reads a header block. A block that equals the last block of the connection is not decoded again.
    #[inline]
    fn read_block(&mut self, number: u32, block: &[u8]) -> Result<ResponseHeaders, Fault> {
        let item = self.streams.find(number).map(|stream| usize::from(stream.item));
        let captures = item.map_or(&[][..], |item| &self.requests[item].capture);
        let mut memory = self.live.as_deref_mut().and_then(|live| live.hears(captures));
        if memory.is_some() || self.last_block.is_empty() || self.last_block != block {
            let (mut says, message, first_answer) =
                (ResponseHeaders::default(), &mut self.message, &mut self.first_answer);
            message.clear();
            self.decoder.decode(block, |name, value| {
                says.header(name, value);
                first_answer.header(name, value);
                // `:status` must come before all other headers, so the status is known at this point. Values in interim
                // responses and in trailers are not captured.
                if let Some(memory) = memory.as_deref_mut().filter(|_| says.status >= 200) {
                    memory.header(name, value, captures);
                }
                if name == b"grpc-message" {
                    message.clear();
                    message.extend_from_slice(&value[..value.len().min(MAX_MESSAGE)]);
                }
            })?;
            self.last = says;
            self.last_block.clear();
            if self.decoder.repeatable {
                self.last_block.extend_from_slice(block);
            }
        }
        self.last.wrong.map_or(Ok(self.last), |why| Err(Fault::Malformed(why)))
    }

    /// Handles a complete header block: the headers of a response, or its trailers.
    fn block(&mut self, head: &FrameHeader, block: &[u8], completions: &mut Completions<'_>) -> Result<(), Fault> {
        let says = self.read_block(head.stream, block)?;
        let stream = self.streams.find(head.stream).ok_or(ENDED)?;
        match (stream.status, says.status) {
            (0, 0) => return Err(Fault::Malformed("a response without :status")),
            (0, 101) => return Err(Fault::Malformed("a response of HTTP/2 with the status 101")),
            (0, 100..200) if head.has(frame::END_STREAM) => {
                return Err(Fault::Malformed("an interim response that ends"));
            }
            // Interim responses (status 1xx) are skipped.
            (0, 100..200) => return Ok(()),
            (0, status) => {
                (stream.status, stream.length, stream.grpc) = (status, says.length, says.grpc);
                stream.is_gzip = says.is_gzip;
                self.first_answer.begins("HTTP/2", head.stream, status);
                if is_refusal(status, &self.requests[usize::from(stream.item)]) {
                    self.refusals.begin(head.stream);
                }
            }
            (_, 0) if head.has(frame::END_STREAM) => stream.grpc = says.grpc.or(stream.grpc),
            _ => return Err(Fault::Malformed("trailers that are none")),
        }
        match head.has(frame::END_STREAM) {
            true => self.end(head.stream, completions),
            false => self.has_begun_answers = true,
        }
        Ok(())
    }

    /// Ends the request on stream `number`, whose response is complete.
    fn end(&mut self, number: u32, completions: &mut Completions<'_>) {
        let Some(stream) = self.streams.close(number) else { return };
        if !stream.is_sent() {
            frame::write(self.outgoing.end(), frame::RST_STREAM, 0, number, &frame::CANCEL.to_be_bytes());
        }
        let request = &self.requests[usize::from(stream.item)];
        let (status, mut outcome) = outcome_of_response(&stream, request);
        let mut events = stream.new_events;
        if request.is_examined && outcome != Outcome::Unexpected {
            let (last, is_complete) = self.events.end(stream.id, stream.body == 0);
            events += last;
            let has_text = || self.body_searches.found(stream.id);
            outcome = outcome_of_body(outcome, request, has_text, is_complete);
        }
        outcome = outcome_of_captures(outcome, request, self.live.as_deref_mut());
        self.refusals.end(number, outcome == Outcome::Unexpected);
        if request.grpc && outcome == Outcome::Unexpected {
            self.refusals.end_call(status, &self.message);
        }
        self.first_answer.ends(number);
        self.last_body_bytes = Some(stream.body);
        completions.complete(stream.id, status, outcome, (stream.body, events));
    }
}
