//! The client half: sends prepared requests, checks framing, length and status of every response.
//!
//! Conclusion first: a response whose head equals the thread's last one to the same request byte for byte is not parsed
//! again. Servers change their head once a second (Date), so nearly all responses take that way.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use run::{Protocol, RequestOrder, RequestSet};

use super::chunked::Chunked;
use super::head::{Framing, HeadBuffer, ResponseHead, response};
use super::request::{Request, build, end_head};
use crate::memory::Memory;
use crate::search::Search;
use crate::template::Source;
use crate::{Client, Done, Fault, Mix, Outcome, Progress, ProtoError, Request as Asked, Requester, Which};

/// Longest head that is remembered.
const REMEMBERED: usize = 2048;

/// Heads that are remembered: requests of a mix have answers of different lengths, each with its own head.
const HEADS: usize = 32;
/// Requests whose head is known; of a larger mix some share a place.
const ITEMS: usize = 256;

/// Heads that this thread parsed last, and which of them answered some requests. A pure cache: the same bytes always say the
/// same. Requests that have the same head share it, so that a mix of them needs no more of the processor's cache than one.
struct LastHeads {
    of: [u8; ITEMS],
    heads: [LastHead; HEADS],
    next: u8,
}

struct LastHead {
    len: usize,
    says: ResponseHead,
    bytes: [u8; REMEMBERED],
}

impl LastHead {
    const NONE: Self = Self {
        len: 0,
        says: ResponseHead { status: 0, framing: Framing::Undeclared, keep_alive: false },
        bytes: [0; REMEMBERED],
    };

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

thread_local! {
    static LAST_HEADS: RefCell<LastHeads> =
        const { RefCell::new(LastHeads { of: [0; ITEMS], heads: [const { LastHead::NONE }; HEADS], next: 0 }) };
}

/// The remembered head of answers to this request if `input` begins with it, and its length.
fn recall(item: u16, input: &[u8]) -> Option<(ResponseHead, usize)> {
    LAST_HEADS.with_borrow(|all| {
        let last = &all.heads[usize::from(all.of[usize::from(item) % ITEMS])];
        (last.len > 0 && input.starts_with(last.bytes())).then_some((last.says, last.len))
    })
}

fn remember(item: u16, head: &[u8], says: ResponseHead) {
    LAST_HEADS.with_borrow_mut(|all| {
        let known = all.heads.iter().position(|known| known.bytes() == head);
        let at = known.unwrap_or(usize::from(all.next) % HEADS);
        all.of[usize::from(item) % ITEMS] = at as u8;
        if known.is_none() && head.len() <= REMEMBERED {
            let last = &mut all.heads[at];
            last.bytes[..head.len()].copy_from_slice(head);
            (last.len, last.says) = (head.len(), says);
            all.next = all.next.wrapping_add(1);
        }
    });
}

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Request]>,
    mix: Arc<Mix>,
    /// What requests are filled with, where they are filled anew each time.
    source: Option<Arc<Source>>,
    /// Of how many sessions, so that each draws its own numbers.
    sessions: Arc<AtomicU64>,
}

impl ClientPlan {
    /// Checks the request, reads its body, and puts it together.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Self::of(plan, None)
    }

    /// The same for a set of requests in its place.
    pub fn of(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let source = Source::of(plan, set);
        let requests = build(plan, set, source.as_deref())?.into();
        Ok(Self { requests, mix: Mix::of(set), source, sessions: Arc::default() })
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession {
            requests: self.requests.clone(),
            asked: VecDeque::with_capacity(1),
            given: 0,
            sent: 0,
            phase: Phase::Head,
            status: 0,
            bytes: 0,
            keep_alive: true,
            head: HeadBuffer::default(),
            search: Search::default(),
            live: self.source.as_ref().map(|source| {
                let rng = Rng::with_seed(self.sessions.fetch_add(1, Ordering::Relaxed).wrapping_mul(SPREAD));
                let cookies = self.mix.order == RequestOrder::Sequence;
                Box::new(Live {
                    source: source.clone(),
                    rng,
                    cookies,
                    filled: Vec::new(),
                    body: Vec::new(),
                    memory: Memory::new(source),
                })
            }),
        }
    }

    fn fixed(&self) -> bool {
        self.source.is_none()
    }

    fn mix(&self) -> &Mix {
        &self.mix
    }
}

/// What the next byte of the response belongs to.
enum Phase {
    Head,
    Body(u64),
    Chunks(Chunked),
    UntilClose,
}

/// Client half of one connection.
pub struct ClientSession {
    requests: Arc<[Request]>,
    /// Requests that are not answered, in order.
    asked: VecDeque<u16>,
    /// Of them, those that are given out to their end, and bytes of the next that are.
    given: usize,
    sent: usize,
    phase: Phase,
    status: u16,
    /// Bytes of the response so far.
    bytes: u64,
    keep_alive: bool,
    head: HeadBuffer,
    /// Looks for the text that the response must hold.
    search: Search,
    /// What a connection has whose requests are filled anew each time.
    live: Option<Box<Live>>,
}

/// Spreads the seeds of sessions.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a connection has whose requests are filled anew each time.
struct Live {
    source: Arc<Source>,
    rng: Rng,
    /// Whether cookies are kept and sent.
    cookies: bool,
    /// The request that is being sent, and where its body is made.
    filled: Vec<u8>,
    body: Vec<u8>,
    memory: Memory,
}

impl Live {
    /// Makes the request that is sent next.
    fn fill(&mut self, request: &Request) {
        self.filled.clear();
        let Some(parts) = &request.filled else { return self.filled.extend_from_slice(&request.bytes) };
        let Self { source, rng, filled, body, memory, .. } = self;
        let turn = source.turn(rng);
        body.clear();
        source.fill(&parts.body, turn, &memory.captured, rng, body);
        source.fill(&parts.head, turn, &memory.captured, rng, filled);
        if self.cookies && memory.has_cookies() {
            filled.extend_from_slice(b"Cookie: ");
            memory.write_cookies(filled);
            filled.extend_from_slice(b"\r\n");
        }
        end_head(filled, parts.says_length.then_some(body.len()));
        filled.extend_from_slice(body);
    }
}

impl Requester for ClientSession {
    fn begin(&mut self, request: Asked) {
        self.asked.push_back(request.item);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while self.given < self.asked.len() && done < out.len() {
            let request = &self.requests[usize::from(self.asked[self.given])];
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
        self.given < self.asked.len()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut rest = input;
        // After a response that ends the connection, anything further has no meaning.
        while !rest.is_empty() && !progress.close {
            let used = match &mut self.phase {
                Phase::Head => self.receive_head(rest, &mut progress, done)?,
                Phase::Body(left) => {
                    let n = (*left).min(rest.len() as u64);
                    *left -= n;
                    self.bytes += n;
                    let ended = *left == 0;
                    self.look(&rest[..n as usize]);
                    if ended {
                        self.complete(&mut progress, done);
                    }
                    n as usize
                }
                Phase::Chunks(chunks) => {
                    let (search, live) = (&mut self.search, &mut self.live);
                    let (n, ended) = match wanted(&self.requests, &self.asked) {
                        None => chunks.skip(rest)?,
                        Some(request) => chunks.read(rest, |data| look(search, live, request, data))?,
                    };
                    self.bytes += n as u64;
                    if ended {
                        self.complete(&mut progress, done);
                    }
                    n
                }
                Phase::UntilClose => {
                    self.bytes += rest.len() as u64;
                    self.look(rest);
                    rest.len()
                }
            };
            rest = &rest[used..];
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::CLOSE;
        match self.phase {
            Phase::UntilClose => self.complete(&mut progress, done),
            Phase::Head if self.asked.is_empty() && self.head.is_empty() => return Ok(progress),
            _ => return Err(Fault::Short),
        }
        if self.asked.is_empty() { Ok(progress) } else { Err(Fault::Short) }
    }

    fn reset(&mut self) {
        self.asked.clear();
        (self.given, self.sent, self.bytes) = (0, 0, 0);
        self.search.clear();
        self.live.iter_mut().for_each(|live| live.memory.clear());
        (self.phase, self.keep_alive) = (Phase::Head, true);
        self.head.clear();
    }
}

impl ClientSession {
    /// Takes bytes of a head and gives how many belonged to it.
    fn receive_head(
        &mut self,
        input: &[u8],
        progress: &mut Progress,
        done: &mut dyn FnMut(Done),
    ) -> Result<usize, Fault> {
        let Some(&item) = self.asked.front() else {
            return Err(Fault::Malformed("bytes after the last response"));
        };
        let request = &self.requests[usize::from(item)];
        let listens = self.live.as_deref().is_some_and(|live| live.cookies || !request.capture.is_empty());
        if self.head.is_empty()
            && !listens
            && let Some((says, len)) = recall(item, input)
        {
            self.bytes += len as u64;
            self.enter(says, progress, done)?;
            return Ok(len);
        }
        let collected = self.head.collect(input)?;
        let Some(used) = collected else {
            check_begin(self.head.partial())?;
            return Ok(input.len());
        };
        let head = self.head.head(input, used);
        check_begin(head)?;
        let says = response(head)?;
        match &mut self.live {
            Some(live) if listens && says.status >= 200 => live.memory.head(head, &request.capture),
            Some(_) if listens => {}
            _ => remember(item, head, says),
        }
        self.bytes += head.len() as u64;
        self.head.clear();
        self.enter(says, progress, done)?;
        Ok(used)
    }

    /// The head is read: what follows it? (RFC 9112, section 6.3)
    fn enter(&mut self, says: ResponseHead, progress: &mut Progress, done: &mut dyn FnMut(Done)) -> Result<(), Fault> {
        if says.status < 200 {
            // Interim responses are read over; a change of protocol is nothing we asked for.
            return match says.status {
                100..200 if says.status != 101 => Ok(()),
                _ => Err(Fault::Malformed("an interim status that was not asked for")),
            };
        }
        self.status = says.status;
        self.keep_alive = says.keep_alive;
        let no_body = self.asked().is_some_and(|request| request.is_head) || matches!(says.status, 204 | 304);
        self.phase = match says.framing {
            _ if no_body => Phase::Body(0),
            Framing::Length(n) => Phase::Body(n),
            Framing::Chunked => Phase::Chunks(Chunked::new()),
            Framing::Undeclared | Framing::OtherCoding => Phase::UntilClose,
        };
        if matches!(self.phase, Phase::Body(0)) {
            self.complete(progress, done);
        }
        Ok(())
    }

    /// The request whose response comes next.
    fn asked(&self) -> Option<&Request> {
        self.asked.front().map(|&item| &self.requests[usize::from(item)])
    }

    /// Looks for the expected text in a piece of the body.
    fn look(&mut self, piece: &[u8]) {
        if let Some(request) = wanted(&self.requests, &self.asked) {
            look(&mut self.search, &mut self.live, request, piece);
        }
    }

    fn complete(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) {
        self.phase = Phase::Head;
        let Some(request) = self.asked.pop_front().map(|item| &self.requests[usize::from(item)]) else { return };
        progress.completed += 1;
        let right = (200..400).contains(&self.status) || request.expect_status == Some(self.status);
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
        // A response that overtakes its own request leaves the connection in no usable state.
        let overtook = self.given == 0;
        self.given = self.given.saturating_sub(1);
        progress.close |= !self.keep_alive || overtook;
    }
}

/// The request under way, where the body of its response is looked at.
fn wanted<'a>(requests: &'a [Request], asked: &VecDeque<u16>) -> Option<&'a Request> {
    let request = asked.front().map(|&item| &requests[usize::from(item)]);
    request.filter(|request| request.expect_text.is_some() || !request.capture.is_empty())
}

/// Looks at a piece of the body: for the expected text, and for what is captured.
fn look(search: &mut Search, live: &mut Option<Box<Live>>, request: &Request, piece: &[u8]) {
    if let Some(text) = &request.expect_text {
        search.look(text, piece);
    }
    if let Some(live) = live {
        live.memory.body(piece, &request.capture);
    }
}

/// A server of another protocol is recognised by its first bytes, before it makes us wait for a line end.
fn check_begin(head: &[u8]) -> Result<(), Fault> {
    const BEGIN: &[u8] = b"HTTP/1.";
    let n = head.len().min(BEGIN.len());
    if head[..n] == BEGIN[..n] { Ok(()) } else { Err(Fault::Malformed("the response does not begin with HTTP/1.")) }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
