//! The client half: the same request on many streams of one connection, every answer checked.
//!
//! Requests are begun by the caller whenever it likes; how many are on the wire at once is the server's to say
//! (SETTINGS_MAX_CONCURRENT_STREAMS), the others wait here. What is sent goes through one buffer, so frames are whole
//! whatever the pieces that the driver takes; what is received is kept only where a frame is in two pieces.

use std::collections::VecDeque;
use std::sync::Arc;

use run::{Protocol, RequestOrder, RequestSet};

use super::ending::ending;
use super::flow::{CONNECTION_WINDOW, Received, STREAM_WINDOW, Sending};
use super::frame::{self, Head};
use super::hpack::Decoder;
use super::input::{Input, Piece};
use super::request::Prepared;
use super::says::Says;
use super::stream::{Stream, Streams};
use crate::mix::Mix;
use crate::outbox;
use crate::{Client, Done, Fault, Outcome, Progress, ProtoError, Request, Requester, Which};

/// Bytes that wait to be sent are added to up to here.
const FILL: usize = 16 * 1024;
/// Answers to SETTINGS and PING that a server makes us keep at most.
const MOST_OWED: usize = 64 * 1024;
/// Longest header block, over all its frames.
const MOST_BLOCK: usize = 64 * 1024;
/// Bytes of what trailers say in words that are kept.
const MOST_MESSAGE: usize = 200;
/// The last stream of a connection (section 5.1.1).
const LAST_STREAM: u32 = (1 << 31) - 1;

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Prepared]>,
    /// The same for a connection within TLS.
    https: Arc<[Prepared]>,
    mix: Mix,
}

impl ClientPlan {
    /// Checks the request, reads its body, and puts it together.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Self::of(plan, None)
    }

    /// The same for a set of requests in its place.
    pub fn of(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let (requests, https) = (Prepared::all(plan, set, false)?, Prepared::all(plan, set, true)?);
        Ok(Self { requests, https, mix: Mix::of(set) })
    }

    /// Calls of gRPC.
    pub(crate) fn calls(plan: &Protocol) -> Result<Self, ProtoError> {
        let call = |https| Prepared::call(plan, https).map(|call| Arc::new([call]));
        Ok(Self { requests: call(false)?, https: call(true)?, mix: Mix::of(None) })
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let mut session = ClientSession {
            requests: self.requests.clone(),
            outgoing: Vec::new(),
            given: 0,
            input: Input::default(),
            decoder: Decoder::default(),
            last: Says::default(),
            last_block: Vec::new(),
            block: Vec::new(),
            block_of: None,
            streams: Streams::default(),
            waiting: VecDeque::new(),
            next_stream: 1,
            sending: Sending::default(),
            received: Received::default(),
            most_streams: u32::MAX,
            settled: false,
            table: Table::Empty,
            leaving: false,
            message: Vec::new(),
            refusal: None,
        };
        session.greet();
        session
    }

    fn within_tls(self) -> Self {
        Self { requests: self.https.clone(), ..self }
    }

    fn weights(&self) -> &[f64] {
        &self.mix.weights
    }

    fn classes(&self) -> &[u16] {
        &self.mix.classes
    }

    fn order(&self) -> RequestOrder {
        self.mix.order
    }
}

/// What the peer's table for our headers holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    /// Nothing yet.
    Empty,
    /// Our request's headers.
    Filled,
    /// It is too small for them.
    None,
}

/// Client half of one connection.
pub struct ClientSession {
    requests: Arc<[Prepared]>,
    outgoing: Vec<u8>,
    given: usize,
    input: Input,
    decoder: Decoder,
    /// What the last header block said, and the block, where the same bytes mean the same again.
    last: Says,
    last_block: Vec<u8>,
    /// A header block that goes on in a further frame, and the frame that it began with.
    block: Vec<u8>,
    block_of: Option<Head>,
    streams: Streams,
    /// Requests that wait for a stream.
    waiting: VecDeque<Request>,
    next_stream: u32,
    sending: Sending,
    received: Received,
    most_streams: u32,
    /// The server's SETTINGS have come.
    settled: bool,
    table: Table,
    /// The server takes no further requests here (GOAWAY).
    leaving: bool,
    /// What the last trailers of gRPC say in words.
    message: Vec<u8>,
    /// The first answer of this connection with a status that is not right.
    refusal: Option<String>,
}

impl Requester for ClientSession {
    const SENDS_UNASKED: bool = true;

    fn ready(&self) -> bool {
        self.settled
    }

    fn explain(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn takes_more(&self) -> bool {
        !self.leaving && self.next_stream < LAST_STREAM - 2
    }

    fn begin(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.given == self.outgoing.len() {
            self.outgoing.clear();
            self.given = 0;
            self.fill();
        }
        outbox::copy(&self.outgoing, &mut self.given, out)
    }

    fn wants_transmit(&self) -> bool {
        self.given < self.outgoing.len() || self.opens() || self.streams.next_to_send(&self.sending).is_some()
    }

    fn receive(&mut self, input: &[u8], done: &mut impl FnMut(Done)) -> Result<Progress, Fault> {
        let (mut progress, mut rest) = (Progress::default(), input);
        let mut framer = std::mem::take(&mut self.input);
        let outcome = loop {
            let piece = match framer.next(&mut rest) {
                Ok(Some(piece)) => piece,
                Ok(None) => break Ok(()),
                Err(fault) => break Err(fault),
            };
            let taken = match piece {
                Piece::Data { head, bytes, length, ends } => self.data(&head, bytes, length, ends, &mut progress, done),
                Piece::Frame { head, payload } => self.frame(&head, payload, &mut progress, done),
            };
            if let Err(fault) = taken {
                break Err(fault);
            }
        };
        self.input = framer;
        outcome?;
        self.received.give_back(&mut self.outgoing, 0);
        progress.close |= self.leaving && self.streams.is_empty();
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut impl FnMut(Done)) -> Result<Progress, Fault> {
        let nothing = self.streams.is_empty() && self.waiting.is_empty() && self.settled;
        if nothing { Ok(Progress::CLOSE) } else { Err(Fault::Short) }
    }

    fn reset(&mut self) {
        self.outgoing.clear();
        self.given = 0;
        self.input = Input::default();
        self.decoder.reset();
        self.last_block.clear();
        (self.block_of, self.next_stream, self.most_streams) = (None, 1, u32::MAX);
        self.streams.clear();
        self.waiting.clear();
        (self.sending, self.received) = (Sending::default(), Received::default());
        (self.settled, self.table, self.leaving, self.refusal) = (false, Table::Empty, false, None);
        self.greet();
    }
}

impl ClientSession {
    /// The preface, our settings, and a window for the whole connection.
    fn greet(&mut self) {
        let to = &mut self.outgoing;
        to.extend_from_slice(frame::PREFACE);
        frame::write_settings(to, &[(frame::ENABLE_PUSH, 0), (frame::INITIAL_WINDOW_SIZE, STREAM_WINDOW)]);
        frame::write(to, frame::WINDOW_UPDATE, 0, 0, &(CONNECTION_WINDOW - 65_535).to_be_bytes());
    }

    /// Whether a request that waits may have its stream now.
    fn opens(&self) -> bool {
        self.settled && !self.leaving && !self.waiting.is_empty() && (self.streams.len() as u32) < self.most_streams
    }

    /// Puts new requests, and as much of their bodies as the windows allow, where they are sent from.
    fn fill(&mut self) {
        while self.outgoing.len() < FILL {
            if self.opens() {
                self.open_stream();
            } else if let Some(at) = self.streams.next_to_send(&self.sending) {
                let body = |item: u16| &*self.requests[usize::from(item)].body;
                self.streams.send_body(at, body, &mut self.sending, &mut self.outgoing);
            } else {
                return;
            }
        }
    }

    fn open_stream(&mut self) {
        let Some(Request { id, item }) = self.waiting.pop_front() else { return };
        let number = self.next_stream;
        self.next_stream += 2;
        let Prepared { blocks, body, .. } = &self.requests[usize::from(item)];
        let block = match self.table {
            // What one request left in the table names nothing of another.
            _ if self.requests.len() > 1 => &blocks.plain,
            Table::Empty => &blocks.first,
            Table::Filled => &blocks.later,
            Table::None => &blocks.plain,
        };
        if self.table == Table::Empty {
            self.table = Table::Filled;
        }
        let flags = if body.is_empty() { frame::END_STREAM } else { 0 };
        frame::write_block(&mut self.outgoing, number, flags, block);
        self.streams.open(Stream::new(number, (id, item), body.len(), self.sending.initial));
    }

    /// Whether this stream was opened here, however it stands now.
    const fn was_opened(&self, stream: u32) -> bool {
        stream % 2 == 1 && stream < self.next_stream
    }

    /// A piece of DATA.
    fn data(
        &mut self,
        head: &Head,
        bytes: usize,
        length: usize,
        ends: bool,
        progress: &mut Progress,
        done: &mut impl FnMut(Done),
    ) -> Result<(), Fault> {
        if !self.was_opened(head.stream) {
            return Err(Fault::Malformed("DATA on a stream that was not opened"));
        }
        self.received.take(length)?;
        // What comes for a request that has ended counts for the connection alone.
        let Some(stream) = self.streams.find(head.stream) else { return Ok(()) };
        if stream.status == 0 {
            return Err(Fault::Malformed("DATA before the headers of the response"));
        }
        stream.body += bytes as u64;
        stream.received.take(length)?;
        stream.received.give_back(&mut self.outgoing, head.stream);
        if ends && head.has(frame::END_STREAM) {
            self.end(head.stream, progress, done);
        }
        Ok(())
    }

    fn frame(
        &mut self,
        head: &Head,
        payload: &[u8],
        progress: &mut Progress,
        done: &mut impl FnMut(Done),
    ) -> Result<(), Fault> {
        if self.block_of.is_some_and(|began| head.kind != frame::CONTINUATION || head.stream != began.stream) {
            return Err(Fault::Malformed("a header block of HTTP/2 is interrupted"));
        }
        if !self.settled && head.kind != frame::SETTINGS {
            return Err(Fault::Malformed("HTTP/2 does not begin with SETTINGS"));
        }
        match head.kind {
            frame::HEADERS => self.headers(head, payload, progress, done),
            frame::CONTINUATION => self.continuation(payload, head.has(frame::END_HEADERS), progress, done),
            frame::SETTINGS => self.settings(head, payload),
            frame::PING => self.ping(head, payload),
            frame::WINDOW_UPDATE => self.window(head, payload),
            frame::RST_STREAM => self.stream_reset(head, payload, progress, done),
            frame::GOAWAY => self.goaway(payload, progress, done),
            frame::PUSH_PROMISE => Err(Fault::Malformed("a push, which was refused at the begin")),
            // PRIORITY, and whatever is not known, is read over (section 5.5).
            _ => Ok(()),
        }
    }

    fn headers(
        &mut self,
        head: &Head,
        payload: &[u8],
        progress: &mut Progress,
        done: &mut impl FnMut(Done),
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
            return self.block(head, block, progress, done);
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.block_of = Some(*head);
        Ok(())
    }

    fn continuation(
        &mut self,
        payload: &[u8],
        last: bool,
        progress: &mut Progress,
        done: &mut impl FnMut(Done),
    ) -> Result<(), Fault> {
        let began = self.block_of.ok_or(Fault::Malformed("CONTINUATION without HEADERS"))?;
        // An empty frame costs the sender next to nothing: it counts as if it were not.
        if self.block.len() + payload.len().max(256) > MOST_BLOCK {
            return Err(Fault::Limit("a header block of HTTP/2 of more than 64 KiB"));
        }
        self.block.extend_from_slice(payload);
        if !last {
            if payload.is_empty() {
                return Err(Fault::Limit("empty frames of a header block"));
            }
            return Ok(());
        }
        self.block_of = None;
        let block = std::mem::take(&mut self.block);
        let read = self.block(&began, &block, progress, done);
        self.block = block;
        read
    }

    /// A whole header block: of a response, or its trailers.
    fn block(
        &mut self,
        head: &Head,
        block: &[u8],
        progress: &mut Progress,
        done: &mut impl FnMut(Done),
    ) -> Result<(), Fault> {
        if self.last_block.is_empty() || self.last_block != block {
            let (mut says, message) = (Says::default(), &mut self.message);
            message.clear();
            self.decoder.decode(block, |name, value| {
                says.hear(name, value);
                if name == b"grpc-message" {
                    message.clear();
                    message.extend_from_slice(&value[..value.len().min(MOST_MESSAGE)]);
                }
            })?;
            self.last = says;
            self.last_block.clear();
            if self.decoder.repeatable {
                self.last_block.extend_from_slice(block);
            }
        }
        let says = self.last;
        let Some(stream) = self.streams.find(head.stream) else { return Ok(()) };
        match (stream.status, says.status) {
            (0, 0) => return Err(Fault::Malformed("a response without :status")),
            (0, 100..200) if head.has(frame::END_STREAM) => {
                return Err(Fault::Malformed("an interim response that ends"));
            }
            // Interim responses are read over.
            (0, 100..200) => return Ok(()),
            (0, status) => (stream.status, stream.length, stream.grpc) = (status, says.length, says.grpc),
            (_, 0) if head.has(frame::END_STREAM) => stream.grpc = says.grpc.or(stream.grpc),
            _ => return Err(Fault::Malformed("trailers that are none")),
        }
        if head.has(frame::END_STREAM) {
            self.end(head.stream, progress, done);
        }
        Ok(())
    }

    /// A response is complete.
    fn end(&mut self, number: u32, progress: &mut Progress, done: &mut impl FnMut(Done)) {
        let Some(stream) = self.streams.close(number) else { return };
        if !stream.is_sent() {
            frame::write(&mut self.outgoing, frame::RST_STREAM, 0, number, &frame::CANCEL.to_be_bytes());
        }
        let request = &self.requests[usize::from(stream.item)];
        let (status, outcome) = ending(&stream, request);
        if request.grpc && outcome == Outcome::Unexpected && self.refusal.is_none() {
            self.refusal = Some(refusal(status, &self.message));
        }
        progress.completed += 1;
        done(Done { which: Which::Id(stream.id), status, outcome, bytes: stream.body });
    }

    fn settings(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        const WRONG: Fault = Fault::Malformed("SETTINGS of HTTP/2 are wrong");
        if head.has(frame::ACK) || head.stream != 0 || !payload.len().is_multiple_of(6) {
            return if head.has(frame::ACK) && payload.is_empty() { Ok(()) } else { Err(WRONG) };
        }
        for setting in payload.chunks_exact(6) {
            let name = u16::from_be_bytes([setting[0], setting[1]]);
            let value = frame::number(&setting[2..]).ok_or(WRONG)?;
            match name {
                frame::HEADER_TABLE_SIZE if (value as usize) < self.requests[0].blocks.table => {
                    self.table = Table::None
                }
                frame::MAX_CONCURRENT_STREAMS => self.most_streams = value,
                frame::INITIAL_WINDOW_SIZE => {
                    let change = self.sending.set_initial(value)?;
                    self.streams.widen(change)?;
                }
                frame::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => return Err(WRONG),
                _ => {}
            }
        }
        self.settled = true;
        frame::write(&mut self.outgoing, frame::SETTINGS, frame::ACK, 0, &[]);
        self.owed()
    }

    fn ping(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        if payload.len() != 8 || head.stream != 0 {
            return Err(Fault::Malformed("a PING of HTTP/2 is wrong"));
        }
        if !head.has(frame::ACK) {
            frame::write(&mut self.outgoing, frame::PING, frame::ACK, 0, payload);
        }
        self.owed()
    }

    /// What is owed is bounded: a server that asks and does not read is left.
    fn owed(&self) -> Result<(), Fault> {
        match self.outgoing.len() - self.given {
            0..MOST_OWED => Ok(()),
            _ => Err(Fault::Limit("SETTINGS and PING without end")),
        }
    }

    fn window(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        let by = frame::number(payload).filter(|_| payload.len() == 4).map(|by| by & 0x7fff_ffff);
        let by = by.filter(|by| *by > 0).ok_or(Fault::Malformed("a WINDOW_UPDATE of HTTP/2 is wrong"))?;
        match head.stream {
            0 => self.sending.widen(by),
            number => self.streams.find(number).map_or(Ok(()), |stream| stream.widen(i64::from(by))),
        }
    }

    fn stream_reset(
        &mut self,
        head: &Head,
        payload: &[u8],
        progress: &mut Progress,
        done: &mut impl FnMut(Done),
    ) -> Result<(), Fault> {
        let code = frame::number(payload).filter(|_| payload.len() == 4 && head.stream != 0);
        let code = code.ok_or(Fault::Malformed("a RST_STREAM of HTTP/2 is wrong"))?;
        if let Some(stream) = self.streams.close(head.stream) {
            let fault = if code == frame::REFUSED_STREAM { Fault::StreamRefused } else { Fault::StreamReset };
            fail(stream.id, fault, progress, done);
        }
        Ok(())
    }

    /// The server takes no further requests; those that it will not answer have failed, the others are finished.
    fn goaway(&mut self, payload: &[u8], progress: &mut Progress, done: &mut impl FnMut(Done)) -> Result<(), Fault> {
        let last = frame::number(payload).ok_or(Fault::Malformed("a GOAWAY of HTTP/2 is wrong"))? & 0x7fff_ffff;
        let error = payload.get(4..).and_then(frame::number).unwrap_or_default();
        if error != 0 && self.streams.is_empty() && self.waiting.is_empty() {
            return Err(Fault::Malformed("the server ends the connection with an error (GOAWAY)"));
        }
        self.leaving = true;
        while let Some(stream) = self.streams.close_after(last) {
            fail(stream.id, Fault::StreamRefused, progress, done);
        }
        while let Some(waiting) = self.waiting.pop_front() {
            fail(waiting.id, Fault::StreamRefused, progress, done);
        }
        Ok(())
    }
}

fn fail(id: u16, fault: Fault, progress: &mut Progress, done: &mut impl FnMut(Done)) {
    progress.completed += 1;
    done(Done { which: Which::Id(id), status: 0, outcome: Outcome::Failed(fault), bytes: 0 });
}

/// What a status of gRPC that is not right is told as.
fn refusal(status: u16, message: &[u8]) -> String {
    let (name, code) = (run::STATUS_CLASSES[run::status_class(status)], status.saturating_sub(run::GRPC_STATUS));
    let message = String::from_utf8_lossy(message);
    let words = if message.is_empty() { "no words".into() } else { format!("the words {:?}", run::visible(&message)) };
    format!(
        "it was answered {name} ({code}) with {words}; correct the call (path, --body, --header), or give \
         --expect-status {code} if this is the right answer"
    )
}
