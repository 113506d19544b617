//! The client side: sends prepared requests, and checks framing, length and status of every response.

use std::collections::VecDeque;
use std::sync::Arc;

use fastrand::Rng;
use run::{Protocol, RequestSet};

use super::chunked::Chunked;
use super::head::{Framing, HeadBuffer, ResponseHead, response};
use super::head_cache::{recall, remember};
use super::request::{Request, build, end_head};
use crate::memory::Memory;
use crate::refusal::Refusal;
use crate::search::Search;
use crate::template::{SharedPlan, Source};
use crate::{Client, Done, Fault, Mix, Outcome, Progress, ProtoError, Request as Asked, Requester, Which};

/// Settings of the clients of a plan, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Request]>,
    shared: SharedPlan,
    /// True if the connection uses TLS.
    is_secure: bool,
}

impl ClientPlan {
    /// Checks the request, reads its body, and builds its bytes.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Self::with_set(plan, None)
    }

    /// Prepares a set of requests, which replaces the single request of the plan.
    pub fn with_set(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let shared = SharedPlan::new(plan, set);
        Ok(Self { requests: build(plan, set, shared.source.as_deref())?.into(), shared, is_secure: false })
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
            keep_alive: true,
            head: HeadBuffer::default(),
            wrong_line: None,
            gave_up_idle: false,
            refusal: Refusal::default(),
            search: Search::default(),
            live: self.shared.template().map(|(source, seed, cookies)| {
                let (rng, memory) = (Rng::with_seed(seed), Memory::new(&source, cookies, self.is_secure));
                let [filled, body, cookie] = Default::default();
                Box::new(TemplateState { source, rng, cookies, filled, body, cookie, memory })
            }),
        }
    }

    fn within_tls(self) -> Self {
        Self { is_secure: true, ..self }
    }

    fn fixed(&self) -> bool {
        self.shared.source.is_none()
    }

    fn is_idempotent(&self, item: u16) -> bool {
        self.requests.get(usize::from(item)).is_some_and(|request| request.is_idempotent)
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
    outstanding: VecDeque<u16>,
    /// Number of requests whose bytes were all returned for sending, and number of bytes of the next request that were.
    given: usize,
    sent: usize,
    phase: Phase,
    status: u16,
    /// Number of bytes of the response so far.
    bytes: u64,
    keep_alive: bool,
    head: HeadBuffer,
    /// The invalid line in the head of a response, for display.
    wrong_line: Option<String>,
    /// True if the server ended the idle connection with status 408.
    gave_up_idle: bool,
    refusal: Refusal,
    /// Search for the text that the response must contain.
    search: Search,
    /// State of a connection on which values are filled into each request.
    live: Option<Box<TemplateState>>,
}

/// State of a connection on which values are filled into each request.
struct TemplateState {
    source: Arc<Source>,
    rng: Rng,
    /// True if cookies are stored and sent.
    cookies: bool,
    /// The request that is being sent, and the buffers for building its body and its own cookies.
    filled: Vec<u8>,
    body: Vec<u8>,
    cookie: Vec<u8>,
    memory: Memory,
}

impl TemplateState {
    /// Builds the next request to send.
    fn fill(&mut self, request: &Request) {
        self.filled.clear();
        let Some(parts) = &request.filled else { return self.filled.extend_from_slice(&request.bytes) };
        let Self { source, rng, filled, body, cookie, memory, .. } = self;
        let turn = source.next_index(rng);
        body.clear();
        cookie.clear();
        source.fill(&parts.body, turn, &memory.captured, rng, body);
        source.fill(&parts.head, turn, &memory.captured, rng, filled);
        source.fill(&parts.cookie, turn, &memory.captured, rng, cookie);
        memory.cookies.begin(filled.split(|byte| *byte == b' ').nth(1).unwrap_or_default());
        let (end, name) = (filled.len(), b"Cookie: ");
        filled.extend_from_slice(name);
        if memory.cookies.write(cookie, filled) {
            filled.extend_from_slice(b"\r\n");
        } else {
            filled.truncate(end);
        }
        end_head(filled, parts.says_length.then_some(body.len()));
        filled.extend_from_slice(body);
    }
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

    fn begin(&mut self, request: Asked) {
        self.outstanding.push_back(request.item);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while self.given < self.outstanding.len() && done < out.len() {
            let request = &self.requests[usize::from(self.outstanding[self.given])];
            let message = match &mut self.live {
                None => &*request.bytes,
                Some(live) => {
                    if self.sent == 0 {
                        live.fill(request);
                    }
                    &live.filled
                }
            };
            let rest = &message[self.sent..];
            let n = rest.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&rest[..n]);
            done += n;
            self.sent += n;
            if self.sent == message.len() {
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
        // If a response ends the connection, the bytes after it are ignored.
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
                    let (search, live, refusal) = (&mut self.search, &mut self.live, &mut self.refusal);
                    let (n, ended) = match wanted(&self.requests, &self.outstanding) {
                        None if !refusal.collects() => chunks.skip(rest)?,
                        request => chunks.read(rest, |data| {
                            refusal.add(data);
                            request.iter().for_each(|request| look(search, live, request, data));
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
        self.search.clear();
        self.live.iter_mut().for_each(|live| live.memory.clear());
        (self.phase, self.keep_alive, self.gave_up_idle) = (Phase::Head, true, false);
        self.head.clear();
    }
}

impl ClientSession {
    /// Takes bytes of a head, and returns the number of bytes that belonged to it.
    fn receive_head(&mut self, input: &[u8], progress: &mut Progress) -> Result<usize, Fault> {
        // Some servers write an empty line after a body.
        if matches!(input[0], b'\r' | b'\n') && self.head.is_empty() {
            return Ok(1);
        }
        let Some(&item) = self.outstanding.front() else {
            let used = unasked(input, progress)?;
            self.gave_up_idle = progress.close;
            return Ok(used);
        };
        let request = &self.requests[usize::from(item)];
        let listens = self.live.as_deref().is_some_and(|live| live.cookies || !request.capture.is_empty());
        if self.head.is_empty()
            && !listens
            && let Some((facts, len)) = recall(item, input)
        {
            self.bytes += len as u64;
            self.enter(facts)?;
            return Ok(len);
        }
        let collected = self.head.collect(input)?;
        let Some(used) = collected else {
            check_begin(self.head.partial())?;
            return Ok(input.len());
        };
        let head = self.head.head(input, used);
        check_begin(head)?;
        let facts = response(head).inspect_err(|_| self.wrong_line = wrong_line(head))?;
        match &mut self.live {
            Some(live) if listens && facts.status >= 200 => live.memory.head(head, &request.capture),
            Some(_) if listens => {}
            _ => remember(item, head, facts),
        }
        self.bytes += head.len() as u64;
        self.head.clear();
        self.enter(facts)?;
        Ok(used)
    }

    /// Continues after a complete head, depending on its framing (RFC 9112, section 6.3).
    fn enter(&mut self, facts: ResponseHead) -> Result<(), Fault> {
        if facts.status < 200 {
            // Interim responses are skipped; a switch to another protocol is invalid, because the client never requests
            // one.
            return match facts.status {
                101 => Err(Fault::Malformed("a switch to another protocol that was not asked for (status 101)")),
                100..200 => Ok(()),
                _ => Err(Fault::Malformed("a status below 100")),
            };
        }
        self.status = facts.status;
        self.keep_alive = facts.keep_alive;
        let is_refusal = self.outstanding().is_some_and(|request| !is_right(facts.status, request));
        self.refusal.begin(is_refusal);
        let no_body = self.outstanding().is_some_and(|request| request.is_head) || matches!(facts.status, 204 | 304);
        self.phase = match facts.framing {
            _ if no_body => Phase::Body(0),
            Framing::Length(n) => Phase::Body(n),
            Framing::Chunked => Phase::Chunks(Chunked::lenient()),
            Framing::Undeclared | Framing::OtherCoding => Phase::UntilClose,
        };
        Ok(())
    }

    /// Reports an error if an answer has more bytes than its head says; the request counts as failed. If other requests
    /// wait for answers, the surplus bytes may be the next answer. After an answer that ends the connection, further
    /// bytes are ignored.
    fn check_end(&self, rest: &[u8]) -> Result<(), Fault> {
        let next = rest.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).map_or(&[][..], |at| &rest[at..]);
        let is_surplus = self.keep_alive && self.outstanding.len() == 1 && !begins_answer(next);
        if is_surplus { Err(Fault::Malformed("bytes after the last response")) } else { Ok(()) }
    }

    /// Returns the request to which the next response belongs.
    fn outstanding(&self) -> Option<&Request> {
        self.outstanding.front().map(|&item| &self.requests[usize::from(item)])
    }

    /// Searches a piece of the body for the expected text.
    fn look(&mut self, piece: &[u8]) {
        self.refusal.add(piece);
        if let Some(request) = wanted(&self.requests, &self.outstanding) {
            look(&mut self.search, &mut self.live, request, piece);
        }
    }

    fn complete(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) {
        self.phase = Phase::Head;
        let Some(request) = self.outstanding.pop_front().map(|item| &self.requests[usize::from(item)]) else { return };
        progress.completed += 1;
        let right = is_right(self.status, request);
        let found = request.expect_text.is_none() || self.search.found();
        let captured =
            request.capture.is_empty() || self.live.as_mut().is_none_or(|live| live.memory.complete(&request.capture));
        let outcome = match (right, found) {
            (true, true) if !captured => Outcome::Failed(Fault::WrongBody("what is captured from it is not in it")),
            (true, true) => Outcome::Expected,
            (true, false) => Outcome::Failed(Fault::WrongBody("the expected text is not in it")),
            (false, _) => Outcome::Unexpected,
        };
        self.search.clear();
        done(Done { which: Which::Oldest, status: self.status, outcome, bytes: std::mem::take(&mut self.bytes) });
        // If a response arrives before its request was sent completely, the connection cannot be used any more.
        let overtook = self.given == 0;
        self.given = self.given.saturating_sub(1);
        progress.close |= !self.keep_alive || overtook;
        if !self.keep_alive {
            self.leave_behind(progress, done);
        }
    }

    /// Reports the requests after the last answer of the connection as not processed. The server does not process these
    /// requests (RFC 9112, section 9.6).
    fn leave_behind(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) {
        progress.completed += self.outstanding.len() as u32;
        let left = Done { outcome: Outcome::Failed(Fault::BehindClose), ..Done::OLDEST };
        self.outstanding.drain(..).for_each(|_| done(left));
        (self.given, self.sent) = (0, 0);
    }
}

/// Handles bytes that arrive when no request waits for an answer. When a server closes an idle connection, it may send
/// 408 (RFC 9110, section 15.5.9): the connection ends, but no request failed.
fn unasked(input: &[u8], progress: &mut Progress) -> Result<usize, Fault> {
    if !begins_answer(input) {
        return Err(Fault::Malformed("bytes after the last response"));
    }
    let status = input.get(..12).unwrap_or(input);
    if [&b"HTTP/1.1 408"[..], b"HTTP/1.0 408"].iter().any(|timeout| timeout.starts_with(status)) {
        progress.close = true;
        return Ok(input.len());
    }
    Err(Fault::Unasked("a response that no request asked for"))
}

/// Maximum number of bytes of a line that are shown.
const MAX_SHOWN: usize = 100;

/// Describes the first invalid line in a head.
fn wrong_line(head: &[u8]) -> Option<String> {
    let mut lines = head.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_end);
    let is_header = |line: &[u8]| {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        line.contains(&b':') && name.iter().all(|byte| byte.is_ascii_graphic()) && !line.contains(&0)
    };
    let wrong = lines
        .find(|line| !line.is_empty() && !line.starts_with(b" ") && !line.starts_with(b"\t") && !is_header(line))?;
    let shown = String::from_utf8_lossy(&wrong[..wrong.len().min(MAX_SHOWN)]);
    Some(format!("a line in the head of its response is no header: {:?}; correct the server", run::visible(&shown)))
}

/// Returns true if the request expects this status.
fn is_right(status: u16, request: &Request) -> bool {
    (200..400).contains(&status) || request.expect_status == Some(status)
}

/// Returns the current request if the body of its response must be examined.
fn wanted<'a>(requests: &'a [Request], outstanding: &VecDeque<u16>) -> Option<&'a Request> {
    let request = outstanding.front().map(|&item| &requests[usize::from(item)]);
    request.filter(|request| request.expect_text.is_some() || !request.capture.is_empty())
}

/// Searches a piece of the body for the expected text and for values to capture.
fn look(search: &mut Search, live: &mut Option<Box<TemplateState>>, request: &Request, piece: &[u8]) {
    if let Some(text) = &request.expect_text {
        search.look(text, piece);
    }
    if let Some(live) = live {
        live.memory.body(piece, &request.capture);
    }
}

/// Recognises a server of another protocol by its first bytes, without waiting for the end of a line.
fn check_begin(head: &[u8]) -> Result<(), Fault> {
    if begins_answer(head) { Ok(()) } else { Err(Fault::Malformed("the response does not begin with HTTP/1.")) }
}

/// Returns true if a response may begin with these bytes.
fn begins_answer(bytes: &[u8]) -> bool {
    const HTTP1_PREFIX: &[u8] = b"HTTP/1.";
    HTTP1_PREFIX.starts_with(&bytes[..bytes.len().min(HTTP1_PREFIX.len())])
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
