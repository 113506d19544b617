//! HTTP/2 client: sends requests on many streams of one connection, and checks every answer.
//!
//! The caller may start requests at any time. The server limits the number of open requests
//! (SETTINGS_MAX_CONCURRENT_STREAMS); requests above this limit wait in the session. All output goes through one
//! buffer, so that frames stay complete even if the caller takes only a part of the bytes. Input is stored only if a
//! frame arrives in several pieces.

mod answers;
pub(crate) mod body_events;
pub(crate) mod body_searches;
pub(crate) mod completions;
pub(crate) mod first_answer;
mod frames;
mod plan;
pub(crate) mod refusals;
mod sending;

use std::collections::VecDeque;
use std::sync::Arc;

use super::flow::{Received, Sending};
use super::header_block::HeaderBlock;
use super::hpack::Decoder;
use super::input::{GRPC_IN_HTTP1, IN_HTTP1, Input, Piece};
use super::request::Prepared;
use super::request_template::TemplateState;
use super::response_headers::ResponseHeaders;
use super::stream::Streams;
use crate::late_requests::LateRequests;
use crate::outbox::SendBuffer;
use crate::{Done, Fault, Progress, Request, Requester, Which};
use body_events::BodyEvents;
use body_searches::BodySearches;
use completions::Completions;
use first_answer::FirstAnswer;
pub use plan::ClientPlan;
use refusals::Refusals;

/// Largest stream ID of a connection (section 5.1.1).
const LAST_STREAM: u32 = (1 << 31) - 1;

/// State of the server's header table (HPACK dynamic table). Says whether the server's table contains the headers of
/// the client's requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    /// The server's header table does not contain our headers yet.
    Empty,
    /// The server's header table contains the headers of our request.
    Filled,
    /// The server's header table is smaller than the default size, so it is not used.
    None,
}

/// Client side of one connection.
pub struct ClientSession {
    requests: Arc<[Prepared]>,
    outgoing: SendBuffer,
    input: Input,
    decoder: Decoder,
    /// Content of the last header block.
    last: ResponseHeaders,
    /// Bytes of the last header block. Empty if another header block with the same bytes could have different content.
    last_block: Vec<u8>,
    header_block: HeaderBlock,
    streams: Streams,
    /// Requests that wait for a free stream.
    waiting: VecDeque<Request>,
    /// Requests that had to wait for a free stream and now have one.
    late: LateRequests,
    next_stream: u32,
    sending: Sending,
    received: Received,
    max_streams: u32,
    /// True once the server's SETTINGS have arrived.
    settled: bool,
    table: Table,
    /// Header block of the last request with a trace context.
    traced_block: Vec<u8>,
    /// True if this connection takes no further requests, because the server sent GOAWAY or a fault ended the
    /// connection.
    leaving: bool,
    /// Value of `grpc-message` in the last trailers.
    message: Vec<u8>,
    /// Texts of answers with an unexpected status.
    refusals: Refusals,
    /// Description of the first stream that the server reset, or of a GOAWAY with a reason; absent if the server sent
    /// neither.
    ended_by_server: Option<String>,
    /// The first answer, for display.
    first_answer: FirstAnswer,
    /// Length of the body of the last complete answer, bytes.
    last_body_bytes: Option<u64>,
    /// True if, since the last call of `each_begun_answer`, an incomplete answer has begun or got further events.
    has_begun_answers: bool,
    /// Searches for the texts that responses must contain.
    body_searches: BodySearches,
    /// Events of responses that are streams.
    events: BodyEvents,
    /// State for filling values into requests; absent if no values are filled in.
    live: Option<Box<TemplateState>>,
}

impl ClientSession {
    fn new(requests: Arc<[Prepared]>) -> Self {
        let mut session = Self {
            requests,
            outgoing: SendBuffer::default(),
            input: Input::default(),
            decoder: Decoder::default(),
            last: ResponseHeaders::default(),
            last_block: Vec::new(),
            header_block: HeaderBlock::default(),
            streams: Streams::default(),
            waiting: VecDeque::new(),
            late: LateRequests::default(),
            next_stream: 1,
            sending: Sending::default(),
            received: Received::default(),
            max_streams: u32::MAX,
            settled: false,
            table: Table::Empty,
            traced_block: Vec::new(),
            leaving: false,
            message: Vec::new(),
            refusals: Refusals::default(),
            ended_by_server: None,
            first_answer: FirstAnswer::default(),
            last_body_bytes: None,
            has_begun_answers: false,
            body_searches: BodySearches::default(),
            events: BodyEvents::default(),
            live: None,
        };
        session.greet();
        session
    }

    /// Returns true if this connection takes no further requests, and no stream is open any more.
    fn is_over(&self) -> bool {
        self.leaving && self.streams.is_empty()
    }

    /// Reads frames until all input is used.
    fn read(&mut self, framer: &mut Input, mut rest: &[u8], completions: &mut Completions<'_>) -> Result<(), Fault> {
        while let Some(piece) = framer.next(&mut rest)? {
            match piece {
                Piece::Data { head, body, length, ends } => {
                    self.header_block.allows(&head)?;
                    self.data(&head, body, length, ends, completions)?;
                }
                Piece::Frame { head, payload } => self.frame(&head, payload, completions)?,
            }
            // All further input is ignored, because the connection takes no further requests and has no open stream.
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }
}

impl ClientSession {
    /// Returns advice if requests wait because the server permits no request on this connection.
    fn permission_words(&self) -> Option<String> {
        let why = "the server permits no request on this connection (its SETTINGS_MAX_CONCURRENT_STREAMS is 0): is it \
                   shutting down, or is its limit of streams set to 0?";
        (self.max_streams == 0 && !self.waiting.is_empty()).then(|| why.to_owned())
    }
}

impl Requester for ClientSession {
    fn sends_unasked(&self) -> bool {
        true
    }

    fn ready(&self) -> bool {
        self.settled
    }

    fn stream_limit(&self) -> Option<u32> {
        Some(self.max_streams).filter(|limit| *limit < u32::MAX)
    }

    fn explain(&self) -> Option<String> {
        // An unexpected answer is explained here only if it answers a gRPC call. For HTTP, the user sees the unexpected
        // answer itself.
        self.close_words().or_else(|| self.refusals.explain_call()).or_else(|| self.permission_words())
    }

    fn refusal_words(&self) -> Option<String> {
        self.refusals.words()
    }

    fn close_words(&self) -> Option<String> {
        self.ended_by_server.clone()
    }

    fn plain(&self) -> Option<&[u8]> {
        self.first_answer.text()
    }

    fn keep_first_answer(&mut self, max_bytes: usize) {
        self.first_answer.max_bytes = max_bytes;
    }

    fn forget_first_answer(&mut self) {
        self.first_answer.restart();
    }

    fn last_body_bytes(&self) -> Option<u64> {
        self.last_body_bytes
    }

    fn takes_more(&self) -> bool {
        !self.leaving && self.next_stream < LAST_STREAM - 2
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.streams.0.iter().any(|stream| stream.status > 0))
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if std::mem::take(&mut self.has_begun_answers) {
            let begun_streams = self.streams.0.iter_mut().filter(|s| s.status > 0);
            begun_streams.for_each(|s| begun(Which::Id(s.id), std::mem::take(&mut s.new_events)));
        }
    }

    fn each_late_request(&mut self, sent: &mut dyn FnMut(u16)) {
        self.late.take(self.waiting.len(), sent);
    }

    fn begin(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.outgoing.waiting() == 0 {
            self.outgoing.clear();
            self.fill();
        }
        self.outgoing.copy(out)
    }

    fn wants_transmit(&self) -> bool {
        self.outgoing.waiting() > 0 || self.opens() || self.streams.next_to_send(&self.sending).is_some()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let (mut framer, mut completions) = (std::mem::take(&mut self.input), Completions::new(done));
        let outcome = self.read(&mut framer, input, &mut completions);
        self.input = framer;
        if let Err(fault) = outcome {
            let fault = if fault == IN_HTTP1 && self.requests[0].grpc { GRPC_IN_HTTP1 } else { fault };
            self.give_up(&fault);
            return Err(fault);
        }
        self.received.give_back(self.outgoing.end(), 0);
        Ok(Progress { close: self.is_over(), ..completions.progress })
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let nothing = self.streams.is_empty() && self.waiting.is_empty() && self.settled;
        if nothing { Ok(Progress::CLOSE) } else { Err(Fault::Short) }
    }

    fn reset(&mut self) {
        self.outgoing.clear();
        self.input = Input::default();
        self.decoder.reset();
        self.last_block.clear();
        self.header_block.reset();
        (self.next_stream, self.max_streams) = (1, u32::MAX);
        self.streams.clear();
        self.waiting.clear();
        self.late.clear();
        self.live.iter_mut().for_each(|live| live.clear());
        (self.sending, self.received) = (Sending::default(), Received::default());
        (self.settled, self.table, self.leaving, self.ended_by_server) = (false, Table::Empty, false, None);
        self.refusals.clear();
        self.greet();
    }
}
