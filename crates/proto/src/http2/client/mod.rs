//! The client half: the same request on many streams of one connection, every answer checked.
//!
//! Requests are begun by the caller whenever it likes; how many are on the wire at once is the server's to say
//! (SETTINGS_MAX_CONCURRENT_STREAMS), the others wait here. What is sent goes through one buffer, so frames are whole
//! whatever the pieces that the driver takes; what is received is kept only where a frame is in two pieces.

mod answers;
mod asking;
mod frames;
mod heard;
mod looking;
mod shown;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use run::{Protocol, RequestOrder, RequestSet};

use super::filled::Live;
use super::flow::{Received, Sending};
use super::gathering::Gathering;
use super::hpack::Decoder;
use super::input::{Input, Piece};
use super::request::Prepared;
use super::says::Says;
use super::stream::Streams;
use crate::outbox::Owed;
use crate::template::Source;
use crate::{Client, Done, Fault, Mix, Progress, ProtoError, Request, Requester};
use heard::Heard;
use looking::Looking;
use shown::Shown;

/// The last stream of a connection (section 5.1.1).
const LAST_STREAM: u32 = (1 << 31) - 1;

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Prepared]>,
    /// The same for a connection within TLS.
    https: Arc<[Prepared]>,
    mix: Arc<Mix>,
    /// What requests are filled with, where they are filled anew each time.
    source: Option<Arc<Source>>,
    /// Of how many sessions, so that each draws its own numbers.
    sessions: Arc<AtomicU64>,
}

/// Spreads the seeds of sessions.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl ClientPlan {
    /// Checks the request, reads its body, and puts it together.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Self::of(plan, None)
    }

    /// The same for a set of requests in its place.
    pub fn of(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let source = Source::of(plan, set);
        let all = |https| Prepared::all(plan, set, https, source.as_deref());
        let (requests, https) = (all(false)?, all(true)?);
        Ok(Self { requests, https, mix: Mix::of(set), source, sessions: Arc::default() })
    }

    /// Calls of gRPC.
    pub(crate) fn calls(plan: &Protocol) -> Result<Self, ProtoError> {
        let call = |https| Prepared::call(plan, https).map(|call| Arc::new([call]));
        Ok(Self {
            requests: call(false)?,
            https: call(true)?,
            mix: Mix::of(None),
            source: None,
            sessions: Arc::default(),
        })
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let live = self.source.as_ref().map(|source| {
            let seed = self.sessions.fetch_add(1, Ordering::Relaxed).wrapping_mul(SPREAD);
            Box::new(Live::new(source.clone(), seed, self.mix.order == RequestOrder::Sequence))
        });
        ClientSession { live, ..ClientSession::new(self.requests.clone()) }
    }

    fn fixed(&self) -> bool {
        self.source.is_none()
    }

    fn within_tls(self) -> Self {
        Self { requests: self.https.clone(), ..self }
    }

    fn mix(&self) -> &Mix {
        &self.mix
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
    outgoing: Owed,
    input: Input,
    decoder: Decoder,
    /// What the last header block said, and the block, where the same bytes mean the same again.
    last: Says,
    last_block: Vec<u8>,
    gathering: Gathering,
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
    /// The first answer, for a person.
    shown: Shown,
    /// Looks for the texts that responses must hold.
    looking: Looking,
    /// What a connection has whose requests are filled anew each time.
    live: Option<Box<Live>>,
}

impl ClientSession {
    fn new(requests: Arc<[Prepared]>) -> Self {
        let mut session = Self {
            requests,
            outgoing: Owed::default(),
            input: Input::default(),
            decoder: Decoder::default(),
            last: Says::default(),
            last_block: Vec::new(),
            gathering: Gathering::default(),
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
            shown: Shown::default(),
            looking: Looking::default(),
            live: None,
        };
        session.greet();
        session
    }

    /// The server leaves, and all that it took is answered.
    fn is_over(&self) -> bool {
        self.leaving && self.streams.is_empty()
    }

    /// Takes frames until the input is used up.
    fn read(&mut self, framer: &mut Input, mut rest: &[u8], heard: &mut Heard<'_>) -> Result<(), Fault> {
        while let Some(piece) = framer.next(&mut rest)? {
            match piece {
                Piece::Data { head, body, length, ends } => {
                    self.gathering.allows(&head)?;
                    self.data(&head, body, length, ends, heard)?;
                }
                Piece::Frame { head, payload } => self.frame(&head, payload, heard)?,
            }
            // It is over here, whatever else came with its last frame.
            if self.is_over() {
                break;
            }
        }
        Ok(())
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
        Some(self.most_streams).filter(|limit| *limit < u32::MAX)
    }

    fn explain(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn plain(&self) -> Option<&[u8]> {
        self.shown.text()
    }

    fn takes_more(&self) -> bool {
        !self.leaving && self.next_stream < LAST_STREAM - 2
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
        let (mut framer, mut heard) = (std::mem::take(&mut self.input), Heard::new(done));
        let outcome = self.read(&mut framer, input, &mut heard);
        self.input = framer;
        if let Err(fault) = outcome {
            self.give_up(&fault);
            return Err(fault);
        }
        self.received.give_back(self.outgoing.end(), 0);
        Ok(Progress { close: self.is_over(), ..heard.progress })
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
        self.gathering.reset();
        (self.next_stream, self.most_streams) = (1, u32::MAX);
        self.streams.clear();
        self.waiting.clear();
        self.live.iter_mut().for_each(|live| live.clear());
        (self.sending, self.received) = (Sending::default(), Received::default());
        (self.settled, self.table, self.leaving, self.refusal) = (false, Table::Empty, false, None);
        self.greet();
    }
}
