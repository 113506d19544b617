//! The server half: requests on many streams, pages of a [`Site`] in turns. Bodies of requests are read over.
//!
//! A connection that breaks the protocol is told so (GOAWAY) and ends; what concerns one request alone resets its stream.
//! Memory is bounded: at most [`MOST_STREAMS`] answers under way, of which nothing but the place is kept, and no further
//! input is read by the server models while output waits.

use std::sync::Arc;

use super::asks::Asks;
use super::flow::{CONNECTION_WINDOW, Received, STREAM_WINDOW, Sending};
use super::frame::{self, Head};
use super::hpack::Decoder;
use super::input::{Input, Piece};
use super::served::{AllServed, Now, Served};
use crate::http1::{Page, Site, decode};
use crate::outbox;
use crate::{Fault, Progress, Session};

/// Bytes that wait to be sent are added to up to here.
const FILL: usize = 16 * 1024;
/// Streams of one connection, where nothing else is asked for.
const MOST_STREAMS: u32 = 128;
/// Answers to SETTINGS and PING, and resets, that a client makes us keep at most, bytes.
const MOST_OWED: usize = 256 * 1024;
/// Longest header block, over all its frames.
const MOST_BLOCK: usize = 64 * 1024;

/// Server half of one connection.
pub struct ServerSession<S> {
    site: Arc<S>,
    most_streams: u32,
    /// Bytes of the preface that came.
    preface: usize,
    /// A GOAWAY was sent: nothing more is heard.
    over: bool,
    /// The client said that it leaves.
    leaving: bool,
    settled: bool,
    input: Input,
    decoder: Decoder,
    asks: Asks,
    /// What was asked for last, and the page of it in this second.
    last: (Vec<u8>, Vec<u8>, Option<Arc<Page>>),
    /// A header block that goes on in a further frame, and the frame that it began with.
    block: Vec<u8>,
    block_of: Option<Head>,
    streams: AllServed,
    last_stream: u32,
    sending: Sending,
    received: Received,
    now: Now,
    outgoing: Vec<u8>,
    given: usize,
}

impl<S: Site> ServerSession<S> {
    /// Answers with the pages of `site`, at most so many at a time (0: as many as are usual).
    pub fn new(site: Arc<S>, most_streams: u32) -> Self {
        Self {
            site,
            most_streams: if most_streams == 0 { MOST_STREAMS } else { most_streams },
            preface: 0,
            over: false,
            leaving: false,
            settled: false,
            input: Input::default(),
            decoder: Decoder::default(),
            asks: Asks::default(),
            last: (Vec::new(), Vec::new(), None),
            block: Vec::new(),
            block_of: None,
            streams: AllServed::default(),
            last_stream: 0,
            sending: Sending::default(),
            received: Received::default(),
            now: Now::default(),
            outgoing: Vec::new(),
            given: 0,
        }
    }
}

impl<S: Site> Session for ServerSession<S> {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.given == self.outgoing.len() {
            self.outgoing.clear();
            self.given = 0;
            while self.outgoing.len() < FILL && !self.over {
                if !self.streams.send(&mut self.sending, &self.now, &mut self.outgoing) {
                    break;
                }
            }
        }
        outbox::copy(&self.outgoing, &mut self.given, out)
    }

    fn wants_transmit(&self) -> bool {
        self.given < self.outgoing.len() || !self.over && self.streams.can_send(&self.sending)
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        if self.over {
            return Ok(Progress::default());
        }
        let mut rest = input;
        if self.preface < frame::PREFACE.len() {
            let n = (frame::PREFACE.len() - self.preface).min(rest.len());
            let (now, after) = rest.split_at(n);
            if now != &frame::PREFACE[self.preface..self.preface + n] {
                return Err(Fault::Malformed("the client does not begin as HTTP/2 does"));
            }
            (self.preface, rest) = (self.preface + n, after);
            if self.preface < frame::PREFACE.len() {
                return Ok(Progress::default());
            }
            self.greet();
        }
        self.now.tell(self.site.now_s());
        let mut progress = Progress::default();
        let mut framer = std::mem::take(&mut self.input);
        let outcome = self.read(&mut framer, &mut rest, &mut progress);
        self.input = framer;
        match outcome {
            Ok(()) => self.received.give_back(&mut self.outgoing, 0),
            Err(fault) => self.give_up(&fault),
        }
        let ends = self.over || self.leaving && self.streams.is_empty();
        Ok(Progress { close: ends, linger: ends, ..progress })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn flushed(&mut self) -> Progress {
        if self.leaving && self.streams.is_empty() { Progress::CLOSE } else { Progress::default() }
    }

    fn awaits_head(&self) -> bool {
        !self.over && ((1..frame::PREFACE.len()).contains(&self.preface) || self.block_of.is_some())
    }

    fn head_is_late(&mut self) {
        self.give_up(&Fault::Limit("a head that does not come to its end"));
    }

    fn reset(&mut self) {
        (self.preface, self.over, self.leaving, self.settled) = (0, false, false, false);
        self.input = Input::default();
        self.decoder.reset();
        (self.block_of, self.last_stream, self.given) = (None, 0, 0);
        self.last.2 = None;
        self.streams.clear();
        (self.sending, self.received) = (Sending::default(), Received::default());
        self.outgoing.clear();
        self.outgoing.shrink_to(FILL * 2);
    }
}

impl<S: Site> ServerSession<S> {
    fn greet(&mut self) {
        let settings =
            [(frame::MAX_CONCURRENT_STREAMS, self.most_streams), (frame::INITIAL_WINDOW_SIZE, STREAM_WINDOW)];
        frame::write_settings(&mut self.outgoing, &settings);
        let more = (CONNECTION_WINDOW - 65_535).to_be_bytes();
        frame::write(&mut self.outgoing, frame::WINDOW_UPDATE, 0, 0, &more);
    }

    /// Says why the connection ends.
    fn give_up(&mut self, fault: &Fault) {
        const PROTOCOL_ERROR: u32 = 1;
        const ENHANCE_YOUR_CALM: u32 = 11;
        let code = if matches!(fault, Fault::Limit(_)) { ENHANCE_YOUR_CALM } else { PROTOCOL_ERROR };
        let said = [self.last_stream.to_be_bytes(), code.to_be_bytes()].concat();
        frame::write(&mut self.outgoing, frame::GOAWAY, 0, 0, &said);
        self.over = true;
        self.streams.clear();
    }

    fn read(&mut self, framer: &mut Input, rest: &mut &[u8], progress: &mut Progress) -> Result<(), Fault> {
        while let Some(piece) = framer.next(rest)? {
            match piece {
                Piece::Data { head, bytes, length, ends } => self.data(&head, bytes, length, ends, progress)?,
                Piece::Frame { head, payload } => self.frame(&head, payload, progress)?,
            }
            if self.outgoing.len() - self.given > MOST_OWED {
                return Err(Fault::Limit("SETTINGS, PING and refused requests without end"));
            }
        }
        Ok(())
    }

    fn frame(&mut self, head: &Head, payload: &[u8], progress: &mut Progress) -> Result<(), Fault> {
        if self.block_of.is_some_and(|began| head.kind != frame::CONTINUATION || head.stream != began.stream) {
            return Err(Fault::Malformed("a header block of HTTP/2 is interrupted"));
        }
        if !self.settled && head.kind != frame::SETTINGS {
            return Err(Fault::Malformed("HTTP/2 does not begin with SETTINGS"));
        }
        match head.kind {
            frame::HEADERS => self.headers(head, payload, progress),
            frame::CONTINUATION => self.continuation(payload, head.has(frame::END_HEADERS), progress),
            frame::SETTINGS => self.settings(head, payload),
            frame::PING if payload.len() == 8 && head.stream == 0 => {
                if !head.has(frame::ACK) {
                    frame::write(&mut self.outgoing, frame::PING, frame::ACK, 0, payload);
                }
                Ok(())
            }
            frame::WINDOW_UPDATE => self.window(head, payload),
            frame::RST_STREAM if payload.len() == 4 && self.was_opened(head.stream) => {
                self.streams.close(head.stream);
                Ok(())
            }
            frame::GOAWAY if head.stream == 0 && payload.len() >= 8 => {
                self.leaving = true;
                Ok(())
            }
            frame::PRIORITY_FRAME if head.stream != 0 && payload.len() == 5 => Ok(()),
            frame::PING | frame::RST_STREAM | frame::GOAWAY | frame::PUSH_PROMISE | frame::PRIORITY_FRAME => {
                Err(Fault::Malformed("a frame of HTTP/2 that is wrong or not a client's to send"))
            }
            // What is not known is read over (section 5.5).
            _ => Ok(()),
        }
    }

    /// Whether the client has opened this stream, however it stands now.
    const fn was_opened(&self, stream: u32) -> bool {
        stream % 2 == 1 && stream <= self.last_stream
    }

    fn headers(&mut self, head: &Head, payload: &[u8], progress: &mut Progress) -> Result<(), Fault> {
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
        self.block.clear();
        self.block.extend_from_slice(block);
        self.block_of = Some(*head);
        Ok(())
    }

    fn continuation(&mut self, payload: &[u8], last: bool, progress: &mut Progress) -> Result<(), Fault> {
        let began = self.block_of.ok_or(Fault::Malformed("CONTINUATION without HEADERS"))?;
        if self.block.len() + payload.len() > MOST_BLOCK || payload.is_empty() && !last {
            return Err(Fault::Limit("a header block of HTTP/2 of more than 64 KiB, or of empty frames"));
        }
        self.block.extend_from_slice(payload);
        if !last {
            return Ok(());
        }
        self.block_of = None;
        let block = std::mem::take(&mut self.block);
        let read = self.block(&began, &block, progress);
        self.block = block;
        read
    }

    /// A whole header block: of a request, or its trailers.
    fn block(&mut self, head: &Head, block: &[u8], progress: &mut Progress) -> Result<(), Fault> {
        self.asks.begin();
        let asks = &mut self.asks;
        self.decoder.decode(block, |name, value| asks.hear(name, value))?;
        if head.stream <= self.last_stream {
            return self.trailers(head, progress);
        }
        self.last_stream = head.stream;
        if self.leaving {
            return Ok(());
        }
        if self.streams.len() as u32 >= self.most_streams {
            self.reset_stream(head.stream, frame::REFUSED_STREAM);
        } else if !self.asks.is_right() {
            self.reset_stream(head.stream, frame::PROTOCOL_ERROR);
        } else {
            let (page, head_only) = (self.page(), self.asks.method == b"HEAD");
            let length = self.asks.length;
            self.streams.open(Served::new(head.stream, page, head_only, length, self.sending.initial));
            if head.has(frame::END_STREAM) {
                self.end(head.stream, progress);
            }
        }
        Ok(())
    }

    fn trailers(&mut self, head: &Head, progress: &mut Progress) -> Result<(), Fault> {
        match self.streams.find(head.stream) {
            Some(stream) if !stream.asked && head.has(frame::END_STREAM) => {
                if self.asks.can_be_trailers() {
                    self.end(head.stream, progress);
                } else {
                    self.reset_stream(head.stream, frame::PROTOCOL_ERROR);
                }
                Ok(())
            }
            _ => Err(Fault::Malformed("HEADERS on a stream that takes none")),
        }
    }

    /// The page for what is asked; that of the last request where the same was asked for in the same second.
    fn page(&mut self) -> Arc<Page> {
        if let Some(refused) = self.site.refuse() {
            return refused;
        }
        let Self { last: (method, path, page), asks, site, now, .. } = self;
        if let Some(page) =
            page.as_ref().filter(|_| *method == asks.method && *path == asks.path && now.second == Some(site.now_s()))
        {
            return page.clone();
        }
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let found = match (text(&asks.method), text(&asks.path).and_then(decode)) {
            (Some(name), Some(path)) => site.find(name, &path),
            _ => site.plain(400),
        };
        method.clone_from(&asks.method);
        path.clone_from(&asks.path);
        *page = Some(found.clone());
        found
    }

    /// A request is whole.
    fn end(&mut self, number: u32, progress: &mut Progress) {
        match self.streams.find(number) {
            Some(stream) if stream.is_whole() => {
                stream.asked = true;
                progress.completed += 1;
            }
            _ => self.reset_stream(number, frame::PROTOCOL_ERROR),
        }
    }

    fn reset_stream(&mut self, number: u32, code: u32) {
        self.streams.close(number);
        frame::write(&mut self.outgoing, frame::RST_STREAM, 0, number, &code.to_be_bytes());
    }

    fn data(
        &mut self,
        head: &Head,
        bytes: usize,
        length: usize,
        ends: bool,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        if self.block_of.is_some() || !self.was_opened(head.stream) {
            return Err(Fault::Malformed("DATA on a stream that was not opened"));
        }
        self.received.take(length)?;
        // What comes for a request that has ended counts for the connection alone.
        let Some(stream) = self.streams.find(head.stream) else { return Ok(()) };
        if stream.asked {
            return Err(Fault::Malformed("DATA after the end of a request"));
        }
        stream.body += bytes as u64;
        stream.received.take(length)?;
        stream.received.give_back(&mut self.outgoing, head.stream);
        if ends && head.has(frame::END_STREAM) {
            self.end(head.stream, progress);
        }
        Ok(())
    }

    fn settings(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        const WRONG: Fault = Fault::Malformed("SETTINGS of HTTP/2 are wrong");
        if head.has(frame::ACK) || head.stream != 0 || !payload.len().is_multiple_of(6) {
            return if head.has(frame::ACK) && head.stream == 0 && payload.is_empty() { Ok(()) } else { Err(WRONG) };
        }
        for setting in payload.chunks_exact(6) {
            let name = u16::from_be_bytes([setting[0], setting[1]]);
            let value = frame::number(&setting[2..]).ok_or(WRONG)?;
            match name {
                frame::INITIAL_WINDOW_SIZE => {
                    let change = self.sending.set_initial(value)?;
                    self.streams.widen(change)?;
                }
                frame::ENABLE_PUSH if value > 1 => return Err(WRONG),
                frame::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => return Err(WRONG),
                _ => {}
            }
        }
        self.settled = true;
        frame::write(&mut self.outgoing, frame::SETTINGS, frame::ACK, 0, &[]);
        Ok(())
    }

    fn window(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        const WRONG: Fault = Fault::Malformed("a WINDOW_UPDATE of HTTP/2 is wrong");
        let by = frame::number(payload).filter(|_| payload.len() == 4).ok_or(WRONG)? & 0x7fff_ffff;
        match head.stream {
            0 if by > 0 => self.sending.widen(by),
            number if !self.was_opened(number) => Err(WRONG),
            number => {
                let widened = self.streams.find(number).map(|stream| stream.widen(i64::from(by)));
                if by == 0 || widened.is_some_and(|widened| widened.is_err()) {
                    self.reset_stream(number, frame::FLOW_CONTROL_ERROR);
                }
                Ok(())
            }
        }
    }
}
