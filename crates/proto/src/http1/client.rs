//! HTTP/1 client. The client sends prepared requests, and checks framing, length and status of every response.

mod answers;
mod examiner;
mod template_state;

use std::collections::VecDeque;
use std::sync::Arc;

use run::{Protocol, RequestSet, StreamFormat, StreamPlan};

use self::examiner::{Examiner, Piece};
use self::template_state::TemplateState;
use super::chunked::Chunked;
use super::head::HeadBuffer;
use super::request::{Request, build};
use crate::refusal::Refusal;
use crate::template::SharedPlan;
use crate::trace::copy_with_line;
use crate::{Client, Done, Fault, Mix, Progress, ProtoError, Request as Asked, Requester, Which};

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Request]>,
    shared: SharedPlan,
    stream: Option<StreamPlan>,
    /// True if the connection uses TLS.
    is_secure: bool,
}

impl ClientPlan {
    /// Checks the settings of the request, reads its body, and builds its bytes.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Self::with_set(plan, None)
    }

    /// Prepares the requests of `set`. If `set` is `None`, prepares the single request of `plan`.
    pub fn with_set(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let shared = SharedPlan::new(plan, set);
        Ok(Self {
            requests: build(plan, set, shared.source.as_deref())?.into(),
            shared,
            stream: None,
            is_secure: false,
        })
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession {
            requests: self.requests.clone(),
            outstanding: VecDeque::with_capacity(1),
            given: 0,
            sent: 0,
            phase: Phase::Head,
            status: 0,
            bytes: 0,
            head_bytes: 0,
            last_body_bytes: None,
            keep_alive: true,
            head: HeadBuffer::default(),
            wrong_line: None,
            gave_up_idle: false,
            refusal: Refusal::default(),
            examiner: Examiner::new(self.stream.as_ref()),
            live: self
                .shared
                .template()
                .map(|(source, seed, cookies)| Box::new(TemplateState::new(source, seed, cookies, self.is_secure))),
        }
    }

    fn within_tls(self) -> Self {
        Self { is_secure: true, ..self }
    }

    fn with_stream(mut self, stream: &StreamPlan) -> Result<Self, ProtoError> {
        if matches!(stream.format, StreamFormat::Grpc | StreamFormat::Ws) {
            return Err(ProtoError::wrong_stream(stream));
        }
        // The requests were just built, so this `Arc` is the only reference to them.
        let requests = Arc::get_mut(&mut self.requests);
        requests.into_iter().flatten().for_each(|request| request.is_examined = true);
        Ok(Self { stream: Some(stream.clone()), ..self })
    }

    fn fixed(&self) -> bool {
        self.shared.source.is_none()
    }

    fn is_idempotent(&self, item: u16) -> bool {
        self.requests.get(usize::from(item)).is_some_and(|request| request.is_idempotent)
    }

    /// A client that pipelines sends unanswered requests again if the connection closes (RFC 9112, section 9.3.2).
    fn resends_pipelined(&self) -> bool {
        true
    }

    fn mix(&self) -> &Mix {
        &self.shared.mix
    }
}

/// Part of the response to which the next byte belongs.
enum Phase {
    Head,
    Body(u64),
    Chunks(Chunked),
    UntilClose,
}

/// Client side of one connection.
pub struct ClientSession {
    requests: Arc<[Request]>,
    /// Requests without an answer, in the order in which they were sent.
    outstanding: VecDeque<Asked>,
    /// Number of unanswered requests whose bytes `transmit` has returned completely.
    given: usize,
    /// Number of bytes of the next request that `transmit` has already returned.
    sent: usize,
    phase: Phase,
    status: u16,
    /// Number of bytes of the response so far.
    bytes: u64,
    /// Number of bytes of the response's head (status line and headers), including the heads of interim responses
    /// (status 1xx).
    head_bytes: u64,
    /// Length of the body of the last complete answer, bytes.
    last_body_bytes: Option<u64>,
    keep_alive: bool,
    head: HeadBuffer,
    /// The invalid line in the head of a response, for display.
    wrong_line: Option<String>,
    /// True if the server ended the idle connection with status 408.
    gave_up_idle: bool,
    refusal: Refusal,
    examiner: Examiner,
    /// State for filling values into requests; absent if requests have no placeholders.
    live: Option<Box<TemplateState>>,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        true
    }

    fn explain(&self) -> Option<String> {
        self.wrong_line.clone()
    }

    fn refusal_words(&self) -> Option<String> {
        self.refusal.words()
    }

    fn close_words(&self) -> Option<String> {
        self.gave_up_idle.then(|| "with status 408".to_owned())
    }

    fn is_answering(&self) -> Option<bool> {
        Some(!matches!(self.phase, Phase::Head) || !self.head.is_empty())
    }

    fn lasts_until_close(&self) -> bool {
        matches!(self.phase, Phase::UntilClose)
    }

    fn last_body_bytes(&self) -> Option<u64> {
        self.last_body_bytes
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.is_answering() == Some(true) {
            begun(Which::Oldest, self.examiner.take_events());
        }
    }

    fn begin(&mut self, request: Asked) {
        self.outstanding.push_back(request);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while self.given < self.outstanding.len() && done < out.len() {
            let Asked { item, trace, .. } = self.outstanding[self.given];
            let request = &self.requests[usize::from(item)];
            let (message, line) = match &mut self.live {
                None => (&*request.bytes, trace.is_some().then(|| trace.line())),
                Some(live) => {
                    if self.sent == 0 {
                        live.fill(request, trace);
                    }
                    (&*live.filled, None)
                }
            };
            let to = &mut out[done..];
            let n = match &line {
                None => copy(&message[self.sent..], to),
                Some(line) => copy_with_line(message, (request.headers_end as usize, &line[..]), self.sent, to),
            };
            done += n;
            self.sent += n;
            if self.sent == message.len() + line.map_or(0, |line| line.len()) {
                (self.given, self.sent) = (self.given + 1, 0);
            }
        }
        done
    }

    fn wants_transmit(&self) -> bool {
        self.given < self.outstanding.len()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut rest = input;
        // After a response that ends the connection, all further bytes are ignored.
        while !rest.is_empty() && !progress.close {
            let (used, ended) = match &mut self.phase {
                Phase::Head => (self.receive_head(rest, &mut progress)?, matches!(self.phase, Phase::Body(0))),
                Phase::Body(left) => {
                    let n = (*left).min(rest.len() as u64);
                    *left -= n;
                    self.bytes += n;
                    let ended = *left == 0;
                    self.look(&rest[..n as usize]);
                    (n as usize, ended)
                }
                Phase::Chunks(chunks) => {
                    let (examiner, live, refusal) = (&mut self.examiner, &mut self.live, &mut self.refusal);
                    let status = self.status;
                    let (n, ended) = match wanted(&self.requests, &self.outstanding) {
                        None if !refusal.collects() => chunks.skip(rest)?,
                        request => chunks.read(rest, |data, ends_chunk| {
                            refusal.add(data);
                            let piece = Piece { bytes: data, ends_chunk, status };
                            request.iter().for_each(|request| examiner.look(request, live, piece));
                        })?,
                    };
                    self.bytes += n as u64;
                    (n, ended)
                }
                Phase::UntilClose => {
                    self.bytes += rest.len() as u64;
                    self.look(rest);
                    (rest.len(), false)
                }
            };
            rest = &rest[used..];
            if ended {
                self.check_end(rest)?;
                self.complete(&mut progress, done);
            }
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::CLOSE;
        match self.phase {
            Phase::UntilClose => {
                self.keep_alive = false;
                self.complete(&mut progress, done);
            }
            Phase::Head if self.outstanding.is_empty() && self.head.is_empty() => return Ok(progress),
            _ => return Err(Fault::Short),
        }
        if self.outstanding.is_empty() { Ok(progress) } else { Err(Fault::Short) }
    }

    fn reset(&mut self) {
        self.outstanding.clear();
        (self.given, self.sent, self.bytes) = (0, 0, 0);
        self.examiner.clear();
        self.live.iter_mut().for_each(|live| live.memory.clear());
        (self.phase, self.keep_alive, self.gave_up_idle) = (Phase::Head, true, false);
        self.head.clear();
    }
}

fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let n = from.len().min(to.len());
    to[..n].copy_from_slice(&from[..n]);
    n
}

/// Returns the current request if the body of its response must be examined.
fn wanted<'a>(requests: &'a [Request], outstanding: &VecDeque<Asked>) -> Option<&'a Request> {
    let request = outstanding.front().map(|asked| &requests[usize::from(asked.item)]);
    request.filter(|request| request.is_examined)
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
