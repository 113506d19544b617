//! Requests from the client: header blocks, bodies (which are skipped), and the page that answers each request.

use std::sync::Arc;

use super::ServerSession;
use crate::http1::{Page, Site, decode};
use crate::http2::frame::{self, FrameHeader};
use crate::http2::server_streams::ServerStream;
use crate::{Fault, Progress};

impl<S: Site> ServerSession<S> {
    /// Returns true if the client has ever opened this stream.
    pub(super) const fn was_opened(&self, stream: u32) -> bool {
        stream % 2 == 1 && stream <= self.last_stream
    }

    pub(super) fn headers(&mut self, head: &FrameHeader, payload: &[u8], progress: &mut Progress) -> Result<(), Fault> {
        const WRONG: Fault = Fault::Malformed("HEADERS of HTTP/2 are wrong");
        if head.stream.is_multiple_of(2) {
            return Err(WRONG);
        }
        let mut block = payload.get(frame::unpadded(head, payload).ok_or(WRONG)?).ok_or(WRONG)?;
        if head.has(frame::PRIORITY) {
            let on = frame::number(block).ok_or(WRONG)? & 0x7fff_ffff;
            block = block.get(5..).filter(|_| on != head.stream).ok_or(WRONG)?;
        }
        if head.has(frame::END_HEADERS) {
            return self.block(head, block, progress);
        }
        self.header_block.begin(head, block);
        Ok(())
    }

    pub(super) fn continuation(&mut self, payload: &[u8], last: bool, progress: &mut Progress) -> Result<(), Fault> {
        let Some((began, block)) = self.header_block.append_frame(payload, last)? else { return Ok(()) };
        let read = self.block(&began, &block, progress);
        self.header_block.give_back(block);
        read
    }

    /// Handles a complete header block: the headers of a request, or its trailers.
    fn block(&mut self, head: &FrameHeader, block: &[u8], progress: &mut Progress) -> Result<(), Fault> {
        self.headers.begin();
        let headers = &mut self.headers;
        self.decoder.decode(block, |name, value| headers.header(name, value))?;
        if head.stream <= self.last_stream {
            return self.trailers(head, progress);
        }
        self.last_stream = head.stream;
        if self.leaving {
            return Ok(());
        }
        if self.streams.len() as u32 >= self.max_streams {
            self.reset_stream(head.stream, frame::REFUSED_STREAM);
        } else if !self.headers.is_right() {
            self.reset_stream(head.stream, frame::PROTOCOL_ERROR);
        } else {
            let (page, head_only) = (self.page(), self.headers.method == b"HEAD");
            let length = self.headers.length;
            self.streams.open(ServerStream::new(head.stream, page, head_only, length, self.sending.initial));
            if head.has(frame::END_STREAM) {
                self.end(head.stream, progress);
            }
        }
        Ok(())
    }

    fn trailers(&mut self, head: &FrameHeader, progress: &mut Progress) -> Result<(), Fault> {
        match self.streams.find(head.stream) {
            Some(stream) if !stream.asked && head.has(frame::END_STREAM) => {
                if self.headers.can_be_trailers() {
                    self.end(head.stream, progress);
                } else {
                    self.reset_stream(head.stream, frame::PROTOCOL_ERROR);
                }
                Ok(())
            }
            _ => Err(Fault::Malformed("HEADERS on a stream that takes none")),
        }
    }

    /// Returns the page that answers the request. If the previous request had the same method and path and came in the
    /// same second, returns its page.
    fn page(&mut self) -> Arc<Page> {
        if let Some(refused) = self.site.refuse() {
            return refused;
        }
        let Self { last: (method, path, page), headers, site, now, .. } = self;
        if let Some(page) = page
            .as_ref()
            .filter(|_| *method == headers.method && *path == headers.path && now.second == Some(site.now_s()))
        {
            return page.clone();
        }
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let found = match (text(&headers.method), text(&headers.path).and_then(decode)) {
            (Some(name), Some(path)) => site.find(name, &path),
            _ => site.plain(400),
        };
        method.clone_from(&headers.method);
        path.clone_from(&headers.path);
        *page = Some(found.clone());
        found
    }

    /// Handles the end of a request. Resets the stream if the request's body does not have the declared length.
    fn end(&mut self, number: u32, progress: &mut Progress) {
        match self.streams.find(number) {
            Some(stream) if stream.is_whole() => {
                stream.asked = true;
                if stream.conversation.is_none() {
                    stream.pace = self.site.pace();
                }
                progress.completed += 1;
            }
            _ => self.reset_stream(number, frame::PROTOCOL_ERROR),
        }
    }

    pub(super) fn reset_stream(&mut self, number: u32, code: u32) {
        self.streams.close(number);
        self.ended.rotate_right(1);
        self.ended[0] = number;
        frame::write(self.outgoing.end(), frame::RST_STREAM, 0, number, &code.to_be_bytes());
    }

    pub(super) fn data(
        &mut self,
        head: &FrameHeader,
        body: &[u8],
        length: usize,
        ends: bool,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        if self.header_block.is_open() || !self.was_opened(head.stream) {
            return Err(Fault::Malformed("DATA on a stream that was not opened"));
        }
        self.received.take(length)?;
        // Data for a request that has ended counts only for the connection's window.
        let Some(stream) = self.streams.find(head.stream).filter(|stream| !stream.asked) else {
            // On a stream that the server reset, some data may still arrive; on any other ended stream, the client must
            // not send data.
            if !self.ended.contains(&head.stream) {
                self.reset_stream(head.stream, frame::STREAM_CLOSED);
            }
            return Ok(());
        };
        stream.body += body.len() as u64;
        stream.received.take(length)?;
        stream.received.give_back(self.outgoing.end(), head.stream);
        if stream.conversation.as_mut().is_some_and(|conversation| conversation.read(body).is_err()) {
            self.reset_stream(head.stream, frame::CANCEL);
            return Ok(());
        }
        if ends && head.has(frame::END_STREAM) {
            self.end(head.stream, progress);
        }
        Ok(())
    }
}
