//! HTTP/2 server: answers requests on many streams with pages of a [`Site`]. The streams send alternately. Request
//! bodies are skipped, unless each message of a gRPC call gets its own answer.
//!
//! A violation of the protocol ends the connection with a GOAWAY. If only one request is wrong, the server resets that
//! request's stream and keeps the connection. Memory use is limited: at most `max_streams` answers are being sent at a
//! time, and all answers share their pages instead of copying them. The server models of the crate `serve` stop reading
//! input while too much output waits to be sent.

mod frames;
mod requests;

use std::sync::Arc;

use super::flow::{Received, Sending};
use super::frame;
use super::header_block::HeaderBlock;
use super::hpack::Decoder;
use super::input::{Input, Piece};
use super::request_headers::RequestHeaders;
use super::server_streams::{DateHeader, ServerStreams};
use crate::http1::{Page, Site};
use crate::outbox::SendBuffer;
use crate::{Fault, Progress, Session};

/// Number of unsent bytes at which the send buffer is full: no more answers are added.
const FILL_BYTES: usize = 16 * 1024;
/// Default maximum number of concurrent streams of one connection.
const MAX_STREAMS: u32 = 128;
/// Maximum size of the send buffer, bytes. If the peer does not read, stream resets and answers to SETTINGS and PING
/// fill the buffer.
const MAX_OWED: usize = 256 * 1024;

/// Server side of one connection.
pub struct ServerSession<S> {
    site: Arc<S>,
    max_streams: u32,
    /// Number of bytes of the preface that have arrived.
    preface: usize,
    /// True once a GOAWAY was sent. All input after the GOAWAY is ignored.
    over: bool,
    /// True if the client announced the end of the connection (GOAWAY).
    leaving: bool,
    settled: bool,
    input: Input,
    decoder: Decoder,
    headers: RequestHeaders,
    /// Method and path of the last request, and its page for the current second.
    last: (Vec<u8>, Vec<u8>, Option<Arc<Page>>),
    header_block: HeaderBlock,
    streams: ServerStreams,
    last_stream: u32,
    /// The last streams that the server reset. The client may still send data on streams that were reset.
    ended: [u32; 8],
    sending: Sending,
    received: Received,
    now: DateHeader,
    outgoing: SendBuffer,
}

impl<S: Site> ServerSession<S> {
    /// Creates a session that answers with the pages of `site`. At most `max_streams` streams may be open at the same
    /// time; 0 means the default.
    pub fn new(site: Arc<S>, max_streams: u32) -> Self {
        Self {
            site,
            max_streams: if max_streams == 0 { MAX_STREAMS } else { max_streams },
            preface: 0,
            over: false,
            leaving: false,
            settled: false,
            input: Input::default(),
            decoder: Decoder::default(),
            headers: RequestHeaders::default(),
            last: (Vec::new(), Vec::new(), None),
            header_block: HeaderBlock::default(),
            streams: ServerStreams::default(),
            last_stream: 0,
            ended: [0; 8],
            sending: Sending::default(),
            received: Received::default(),
            now: DateHeader::default(),
            outgoing: SendBuffer::default(),
        }
    }
}

impl<S: Site> Session for ServerSession<S> {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.outgoing.waiting() == 0 {
            self.outgoing.clear();
            while self.outgoing.waiting() < FILL_BYTES && !self.over {
                if !self.streams.send(&mut self.sending, &self.now, self.outgoing.end()) {
                    break;
                }
            }
        }
        self.outgoing.copy(out)
    }

    fn wants_transmit(&self) -> bool {
        self.outgoing.waiting() > 0 || !self.over && self.streams.can_send(&self.sending)
    }

    fn due_ns(&self) -> Option<u64> {
        self.streams.due_ns().filter(|_| !self.over)
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
                return Err(Fault::Malformed("the client did not send the preface of HTTP/2"));
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
            Ok(()) => self.received.give_back(self.outgoing.end(), 0),
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
        !self.over && ((1..frame::PREFACE.len()).contains(&self.preface) || self.header_block.is_open())
    }

    fn head_is_late(&mut self) {
        self.give_up(&Fault::Limit("a head without an end"));
    }

    fn reset(&mut self) {
        (self.preface, self.over, self.leaving, self.settled) = (0, false, false, false);
        self.input = Input::default();
        self.decoder.reset();
        self.header_block.reset();
        (self.last_stream, self.ended) = (0, [0; 8]);
        self.last.2 = None;
        self.streams.clear();
        (self.sending, self.received) = (Sending::default(), Received::default());
        self.outgoing.forget(FILL_BYTES * 2);
    }
}

impl<S: Site> ServerSession<S> {
    /// Reads frames until all input is used.
    fn read(&mut self, framer: &mut Input, rest: &mut &[u8], progress: &mut Progress) -> Result<(), Fault> {
        while let Some(piece) = framer.next(rest)? {
            match piece {
                Piece::Data { head, body, length, ends } => self.data(&head, body, length, ends, progress)?,
                Piece::Frame { head, payload } => self.frame(&head, payload, progress)?,
            }
            if self.outgoing.waiting() > MAX_OWED {
                return Err(Fault::Limit("SETTINGS, PING and refused requests without end"));
            }
        }
        Ok(())
    }
}
