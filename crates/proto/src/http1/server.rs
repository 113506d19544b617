//! HTTP/1 server: reads requests, and answers with pages of a [`Site`]. Bodies of requests are skipped.
//!
//! Fast path: a request with a repeated head gets the prepared bytes of an earlier answer. The head must equal the last
//! head parsed by this thread, and this connection must have answered it in the current second. On the fast path,
//! nothing is parsed or looked up.

use std::collections::VecDeque;
use std::sync::Arc;

use super::chunked::Chunked;
use super::fields::Refused;
use super::head::{Framing, HeadBuffer};
use super::last_head::{self, HeadFacts, NO_FACTS};
use super::page::{Ending, Page};
use super::reply::{CachedAnswer, Reply, ending};
use super::site::{Site, decode};
use super::strict::{empty_lines, request};
use crate::{Fault, Progress, Session};

/// Maximum size of a request body, bytes. A request with a larger body is refused with status 413.
const BODY_LIMIT: u64 = 1 << 30;
/// Methods of RFC 9110 and RFC 5789; any other method is answered with 501.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"];

/// Part of the request to which the next byte belongs.
enum Phase {
    Head,
    Body(u64),
    /// The body consists of chunks. The number counts the skipped bytes of the body.
    Chunks(Chunked, u64),
    /// The connection ends after the queued replies. All further input is dropped.
    Ignore,
}

/// Server side of one connection.
pub struct ServerSession {
    site: Arc<dyn Site>,
    split: bool,
    phase: Phase,
    head: HeadBuffer,
    /// The answer to the current request, if the body of this request has not arrived completely.
    waiting: Option<Reply>,
    replies: VecDeque<Reply>,
    /// Number of bytes of the first queued reply that were already returned for sending.
    at: u64,
    memo: Option<CachedAnswer>,
}

impl ServerSession {
    /// Creates a session that answers with the pages of `site`.
    pub fn new(site: Arc<dyn Site>) -> Self {
        let (split, head) = (site.splits_head(), HeadBuffer::default());
        Self { site, split, phase: Phase::Head, head, waiting: None, replies: VecDeque::new(), at: 0, memo: None }
    }
}

impl Session for ServerSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(reply) = self.replies.front() {
            let mut bytes = reply.bytes(self.at);
            let head_left = reply.head_len().saturating_sub(self.at) as usize;
            let stops = self.split && head_left > 0;
            if stops {
                bytes = &bytes[..head_left];
            }
            let n = bytes.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&bytes[..n]);
            done += n;
            self.at += n as u64;
            if self.at == reply.len() {
                self.replies.pop_front();
                self.at = 0;
            }
            if done == out.len() || (stops && n == head_left) {
                break;
            }
        }
        done
    }

    fn wants_transmit(&self) -> bool {
        !self.replies.is_empty()
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut rest = input;
        while !rest.is_empty() {
            let used = match &mut self.phase {
                Phase::Head => self.receive_head(rest, &mut progress),
                Phase::Body(left) => {
                    let n = (*left).min(rest.len() as u64);
                    *left -= n;
                    if *left == 0 {
                        self.complete(&mut progress);
                    }
                    n as usize
                }
                Phase::Chunks(chunks, total) => match chunks.skip(rest) {
                    Ok((n, true)) => {
                        self.complete(&mut progress);
                        n
                    }
                    Ok((n, false)) => {
                        *total += n as u64;
                        if *total > BODY_LIMIT {
                            self.refuse(413, &mut progress);
                        }
                        n
                    }
                    Err(_) => {
                        self.refuse(400, &mut progress);
                        rest.len()
                    }
                },
                Phase::Ignore => rest.len(),
            };
            rest = &rest[used..];
        }
        Ok(progress)
    }

    /// The server still sends the queued replies, because a client may close its sending side directly after its
    /// request.
    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        self.phase = Phase::Ignore;
        Ok(Progress::CLOSE)
    }

    fn awaits_head(&self) -> bool {
        matches!(self.phase, Phase::Head) && !self.head.is_empty()
    }

    fn head_is_late(&mut self) {
        self.refuse(408, &mut Progress::default());
    }

    fn reset(&mut self) {
        self.phase = Phase::Head;
        self.head.clear();
        self.waiting = None;
        self.replies.clear();
        self.at = 0;
    }
}

impl ServerSession {
    fn receive_head(&mut self, input: &[u8], progress: &mut Progress) -> usize {
        if self.head.is_empty() {
            if let Some(used) = self.repeat(input, progress) {
                return used;
            }
            let blank = empty_lines(input);
            if blank > 0 {
                return blank;
            }
            // A line feed without a carriage return does not end a line. The server refuses the request as soon as the
            // bare line feed arrives, however the input is divided into pieces.
            if input.starts_with(b"\n") {
                self.refuse(400, progress);
                return input.len();
            }
        }
        match self.head.collect(input) {
            Ok(Some(used)) => {
                let head = self.head.head(input, used);
                if empty_lines(head) == head.len() {
                    // The collected head consists of empty lines only, which arrived in pieces.
                    self.head.clear();
                    return used;
                }
                let answer = self.answer(head);
                let memo = match &answer {
                    Ok((facts, reply, true)) => last_head::remember(head, *facts).map(|id| reply.cached(id)),
                    _ => None,
                };
                self.head.clear();
                match answer {
                    Ok((facts, reply, _)) => {
                        self.memo = memo;
                        self.enter(facts, reply, progress);
                    }
                    Err(status) => self.refuse(status, progress),
                }
                used
            }
            Ok(None) => input.len(),
            Err(_) => {
                self.refuse(431, progress);
                input.len()
            }
        }
    }

    /// Handles the usual case: this connection has answered a request with the same head in the current second. Returns
    /// the length of the head, or `None` in all other cases.
    fn repeat(&mut self, input: &[u8], progress: &mut Progress) -> Option<usize> {
        let memo = self.memo.as_ref()?;
        let (facts, used) = last_head::find(memo.head_id, input)?;
        if memo.ready.second != self.site.now_s() {
            return None;
        }
        let (page, ready, head_only) = (memo.page.clone(), memo.ready.clone(), memo.head_only);
        let reply = match self.site.refuse() {
            Some(page) => self.reply(page, &facts, head_only),
            None => Reply { page, ready, ending: ending(&facts), head_only },
        };
        self.enter(facts, reply, progress);
        Some(used)
    }

    /// Parses a head and finds its page. The last value of the result is true if later requests with the same head get
    /// the same page. If the request must be refused, returns the status of the error answer as the error.
    fn answer(&self, head: &[u8]) -> Result<(HeadFacts, Reply, bool), u16> {
        let asked = request(head).map_err(|Refused { status, .. }| status)?.ok_or(400_u16)?;
        let (framing, minor, method) = (asked.framing, asked.minor, asked.method);
        let keep_alive = asked.hop.persists(minor);
        let facts = HeadFacts { framing, keep_alive, minor, expects_continue: asked.expects_continue };
        if !METHODS.contains(&method) {
            return Err(501);
        }
        let head_only = method == "HEAD";
        let path = decode(asked.path).ok_or(400_u16)?;
        let refused = self.site.refuse();
        let lasting = refused.is_none();
        let page = refused.unwrap_or_else(|| self.site.find(method, &path));
        Ok((facts, self.reply(page, &facts, head_only), lasting))
    }

    fn reply(&self, page: Arc<Page>, facts: &HeadFacts, head_only: bool) -> Reply {
        let ready = page.ready(self.site.now_s());
        Reply { page, ready, ending: ending(facts), head_only }
    }

    /// Chooses the next phase after a complete head, depending on the framing of the request's body.
    fn enter(&mut self, facts: HeadFacts, reply: Reply, progress: &mut Progress) {
        self.phase = match facts.framing {
            Framing::Length(n) if n > BODY_LIMIT => return self.refuse(413, progress),
            Framing::Length(n) => Phase::Body(n),
            Framing::Chunked => Phase::Chunks(Chunked::new(), 0),
            Framing::Undeclared | Framing::OtherCoding => Phase::Body(0),
        };
        let has_body = !matches!(self.phase, Phase::Body(0));
        self.waiting = Some(reply);
        if !has_body {
            return self.complete(progress);
        }
        if facts.expects_continue {
            let go_on = self.reply(self.site.plain(100), &facts, true);
            self.replies.push_back(go_on);
        }
    }

    /// Queues the answer to a request that is now complete.
    fn complete(&mut self, progress: &mut Progress) {
        progress.completed += 1;
        self.phase = Phase::Head;
        let Some(reply) = self.waiting.take() else { return };
        if reply.ending == Ending::Closes {
            progress.close = true;
            self.phase = Phase::Ignore;
        }
        self.replies.push_back(reply);
    }

    /// Answers with an error and ends the connection, because the input after this error cannot be parsed reliably.
    fn refuse(&mut self, status: u16, progress: &mut Progress) {
        let facts = HeadFacts { keep_alive: false, ..NO_FACTS };
        let reply = self.reply(self.site.plain(status), &facts, false);
        self.waiting = None;
        self.replies.push_back(reply);
        self.phase = Phase::Ignore;
        progress.completed += 1;
        (progress.close, progress.linger) = (true, true);
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
