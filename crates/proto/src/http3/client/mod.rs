//! HTTP/3 client: sends requests on many streams of one connection, and checks every answer.
//!
//! The caller may start requests at any time. The server limits the number of streams; requests above this limit wait
//! in the session. The caller passes the current time to [`Requester::tick`](crate::Requester::tick) before each call
//! that may send or receive.

mod answers;
mod early;
mod early_requests;
mod ending;
mod plan;
mod requester;
mod sending;
mod stream;
mod unconnected;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::{Dir, Event, StreamEvent, StreamId};

use self::early_requests::EarlyRequests;
use self::stream::Stream;
use super::frame;
use super::peer_streams::{PeerStreams, Side};
use super::qpack::Decoder;
use crate::http2::client::body_events::BodyEvents;
use crate::http2::client::body_searches::BodySearches;
use crate::http2::client::completions::Completions;
use crate::http2::client::first_answer::FirstAnswer;
use crate::http2::client::refusals::Refusals;
use crate::http2::request::Prepared;
use crate::http2::request_template::TemplateState;
use crate::http2::response_headers::ResponseHeaders;
use crate::late_requests::LateRequests;
use crate::quic::{ClientSetup, Link, instant};
use crate::{Fault, Request};

pub use plan::ClientPlan;

/// Client side of one connection.
pub struct ClientSession {
    requests: Arc<[Prepared]>,
    setup: Option<Arc<ClientSetup>>,
    link: Option<Box<Link>>,
    now: Instant,
    /// Size of the datagrams that the next call of `receive` gets, bytes.
    datagram_bytes: usize,
    /// True if requests, or answers of QUIC, may wait to be put into a datagram.
    stale: bool,
    /// True once the handshake of QUIC is complete and the control stream is open.
    connected: bool,
    resumed: bool,
    early: EarlyRequests,
    /// True if this connection takes no further requests, because the server sent GOAWAY or the connection ended.
    leaving: bool,
    peer: PeerStreams,
    decoder: Decoder,
    /// Content of the last header block.
    last: ResponseHeaders,
    /// Bytes of the last header block. A header block with the same bytes has the same content.
    last_block: Vec<u8>,
    streams: Vec<Stream>,
    /// Requests that wait for a free stream.
    waiting: VecDeque<Request>,
    /// Requests that had to wait for a free stream and now have one.
    late: LateRequests,
    /// Buffer for the frames of one request.
    scratch: Vec<u8>,
    /// Texts of answers with an unexpected status.
    refusals: Refusals,
    /// Description of the first stream that the server reset, or of the end of the connection.
    ended_by_server: Option<String>,
    /// Description of the first request that the server stopped reading because of an error.
    stopped_by_server: Option<String>,
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
    fn new(requests: Arc<[Prepared]>, setup: Option<Arc<ClientSetup>>) -> Self {
        Self {
            requests,
            setup,
            link: None,
            now: instant(0),
            datagram_bytes: usize::MAX,
            stale: true,
            connected: false,
            resumed: false,
            early: EarlyRequests::default(),
            leaving: false,
            peer: PeerStreams::new(Side::Client),
            decoder: Decoder::default(),
            last: ResponseHeaders::default(),
            last_block: Vec::new(),
            streams: Vec::new(),
            waiting: VecDeque::new(),
            late: LateRequests::default(),
            scratch: Vec::new(),
            refusals: Refusals::default(),
            ended_by_server: None,
            stopped_by_server: None,
            first_answer: FirstAnswer::default(),
            last_body_bytes: None,
            has_begun_answers: false,
            body_searches: BodySearches::default(),
            events: BodyEvents::default(),
            live: None,
        }
    }

    /// Handles the changes that the last datagrams or a timer have caused.
    fn handle_events(&mut self, completions: &mut Completions<'_>) -> Result<(), Fault> {
        while let Some(event) = self.link.as_mut().and_then(|link| link.connection.poll()) {
            match event {
                Event::Connected => self.connected()?,
                Event::ConnectionLost { reason } => return self.lost(&reason, completions),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => self.accept()?,
                Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Uni => self.read_peer(id)?,
                Event::Stream(StreamEvent::Readable { id }) => self.read_answer(id, completions)?,
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    self.stop_sending(id, error_code.into_inner());
                }
                _ => {}
            }
            self.heed_goaway(completions);
        }
        Ok(())
    }

    /// Handles the end of the handshake. After the handshake, any request may start.
    fn connected(&mut self) -> Result<(), Fault> {
        self.end_early()?;
        self.resumed = self.link.as_ref().is_some_and(|link| link.certificate.is_none());
        self.connected = true;
        Ok(())
    }

    /// Opens our control stream, and sends the settings.
    fn open_control_stream(&mut self) -> Result<(), Fault> {
        let Some(link) = &mut self.link else { return Ok(()) };
        let opened = link.connection.streams().open(Dir::Uni);
        let id = opened.ok_or(Fault::Malformed("the server permits no control stream of HTTP/3"))?;
        let written = link.connection.send_stream(id).write(&frame::control_stream());
        let no_room = Fault::Malformed("the server's flow control leaves no room for the settings of HTTP/3");
        written.map(drop).map_err(|_| no_room)
    }

    /// Takes the streams that the server has opened.
    fn accept(&mut self) -> Result<(), Fault> {
        let Some(link) = &mut self.link else { return Ok(()) };
        while let Some(id) = link.connection.streams().accept(Dir::Uni) {
            self.peer.opened(&mut link.connection, id)?;
        }
        Ok(())
    }

    fn read_peer(&mut self, id: StreamId) -> Result<(), Fault> {
        self.link.as_mut().map_or(Ok(()), |link| self.peer.read(&mut link.connection, id))
    }

    /// Returns true if this connection takes no further requests, and no stream is open any more.
    fn is_over(&self) -> bool {
        self.leaving && self.streams.is_empty() && self.waiting.is_empty()
    }

    /// Prepares the next datagrams, after anything has changed.
    fn refill(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.send_requests();
        if let Some(link) = &mut self.link {
            link.fill(self.now);
        }
    }

    /// Opens the connection, if it is not yet open.
    fn open(&mut self) {
        if self.link.is_some() || self.ended_by_server.is_some() {
            return;
        }
        let without_tls = || "HTTP/3 is always encrypted: write https:// with --http3, or h3://".to_owned();
        match self.setup.as_ref().ok_or_else(without_tls).and_then(|setup| setup.connect(self.now)) {
            Ok(link) => {
                self.link = Some(Box::new(link));
                // If the earlier connection's limits do not allow any early data, no early data is sent.
                self.early.is_open = self.begin_early().is_ok() && self.early.is_open;
            }
            Err(why) => self.ended_by_server = Some(why),
        }
    }
}
