//! The client half: sends a prepared request, checks framing, length and status of every response.
//!
//! Conclusion first: a response whose head equals the thread's last one byte for byte is not parsed again. Servers
//! change their head once a second (Date), so nearly all responses take that way.

use std::cell::RefCell;
use std::sync::Arc;

use run::Protocol;

use super::chunked::Chunked;
use super::head::{Framing, HeadBuffer, ResponseHead, response};
use super::request::{Request, build};
use crate::outbox::Outbox;
use crate::{Client, Fault, Progress, ProtoError, Session};

/// Longest head that is remembered.
const REMEMBERED: usize = 2048;

/// The last head that this thread parsed. A pure cache: the same bytes always say the same.
struct LastHead {
    bytes: [u8; REMEMBERED],
    len: usize,
    says: ResponseHead,
}

thread_local! {
    static LAST_HEAD: RefCell<LastHead> = const {
        RefCell::new(LastHead {
            bytes: [0; REMEMBERED],
            len: 0,
            says: ResponseHead { status: 0, framing: Framing::Undeclared, keep_alive: false },
        })
    };
}

/// The remembered head if `input` begins with it, and its length.
fn recall(input: &[u8]) -> Option<(ResponseHead, usize)> {
    LAST_HEAD.with_borrow(|last| {
        (last.len > 0 && input.starts_with(&last.bytes[..last.len])).then_some((last.says, last.len))
    })
}

fn remember(head: &[u8], says: ResponseHead) {
    LAST_HEAD.with_borrow_mut(|last| {
        if head.len() <= REMEMBERED {
            last.bytes[..head.len()].copy_from_slice(head);
            (last.len, last.says) = (head.len(), says);
        }
    });
}

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan {
    request: Arc<Request>,
}

impl ClientPlan {
    /// Checks the request, reads its body, and puts it together.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Ok(Self { request: Arc::new(build(plan)?) })
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession {
            request: self.request.clone(),
            outbox: Outbox::default(),
            outstanding: 0,
            phase: Phase::Head,
            status: 0,
            keep_alive: true,
            head: HeadBuffer::default(),
        }
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
    request: Arc<Request>,
    outbox: Outbox,
    outstanding: u32,
    phase: Phase,
    status: u16,
    keep_alive: bool,
    head: HeadBuffer,
}

impl Session for ClientSession {
    fn begin(&mut self) {
        self.outbox.add();
        self.outstanding += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.outbox.fill_from(out, &self.request.bytes)
    }

    fn wants_transmit(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut rest = input;
        // After a response that ends the connection, anything further has no meaning.
        while !rest.is_empty() && !progress.close {
            let used = match &mut self.phase {
                Phase::Head => self.receive_head(rest, &mut progress)?,
                Phase::Body(left) => {
                    let n = (*left).min(rest.len() as u64);
                    *left -= n;
                    if *left == 0 {
                        self.complete(&mut progress);
                    }
                    n as usize
                }
                Phase::Chunks(chunks) => {
                    let (n, done) = chunks.skip(rest)?;
                    if done {
                        self.complete(&mut progress);
                    }
                    n
                }
                Phase::UntilClose => rest.len(),
            };
            rest = &rest[used..];
        }
        Ok(progress)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        let mut progress = Progress::CLOSE;
        match self.phase {
            Phase::UntilClose => self.complete(&mut progress),
            Phase::Head if self.outstanding == 0 && self.head.is_empty() => return Ok(progress),
            _ => return Err(Fault::Short),
        }
        if self.outstanding > 0 { Err(Fault::Short) } else { Ok(progress) }
    }

    fn reset(&mut self) {
        (self.outbox, self.outstanding) = (Outbox::default(), 0);
        (self.phase, self.keep_alive) = (Phase::Head, true);
        self.head.clear();
    }
}

impl ClientSession {
    /// Takes bytes of a head and gives how many belonged to it.
    fn receive_head(&mut self, input: &[u8], progress: &mut Progress) -> Result<usize, Fault> {
        if self.outstanding == 0 {
            return Err(Fault::Malformed("bytes after the last response"));
        }
        if self.head.is_empty()
            && let Some((says, len)) = recall(input)
        {
            self.enter(says, progress)?;
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
        remember(head, says);
        self.head.clear();
        self.enter(says, progress)?;
        Ok(used)
    }

    /// The head is read: what follows it? (RFC 9112, section 6.3)
    fn enter(&mut self, says: ResponseHead, progress: &mut Progress) -> Result<(), Fault> {
        if says.status < 200 {
            // Interim responses are read over; a change of protocol is nothing we asked for.
            return match says.status {
                100..200 if says.status != 101 => Ok(()),
                _ => Err(Fault::Malformed("an interim status that was not asked for")),
            };
        }
        self.status = says.status;
        self.keep_alive = says.keep_alive;
        let no_body = self.request.is_head || matches!(says.status, 204 | 304);
        self.phase = match says.framing {
            _ if no_body => Phase::Body(0),
            Framing::Length(n) => Phase::Body(n),
            Framing::Chunked => Phase::Chunks(Chunked::new()),
            Framing::Undeclared | Framing::OtherCoding => Phase::UntilClose,
        };
        if matches!(self.phase, Phase::Body(0)) {
            self.complete(progress);
        }
        Ok(())
    }

    fn complete(&mut self, progress: &mut Progress) {
        self.phase = Phase::Head;
        self.outstanding -= 1;
        progress.completed += 1;
        let class = usize::from(self.status / 100).clamp(1, 5) - 1;
        progress.status[class] += 1;
        let expected = self.request.expect_status;
        let right = matches!(class, 1 | 2) || expected == Some(self.status);
        progress.unexpected += u32::from(!right);
        // A response that overtakes its own request leaves the connection in no usable state.
        let overtook = self.outstanding < self.outbox.messages();
        progress.close |= !self.keep_alive || overtook;
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
