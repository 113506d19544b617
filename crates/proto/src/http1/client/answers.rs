//! Reads answers: their heads, framing, status, bodies and ends.

use super::{ClientSession, Phase, Piece, wanted};
use crate::http1::chunked::Chunked;
use crate::http1::head::{Framing, ResponseHead, response};
use crate::http1::head_cache::{recall, remember};
use crate::http1::request::Request;
use crate::{Done, Fault, Outcome, Progress, Which};

impl ClientSession {
    /// Reads bytes of a response's head, and returns how many bytes belonged to the head.
    pub(super) fn receive_head(&mut self, input: &[u8], progress: &mut Progress) -> Result<usize, Fault> {
        // Some servers write an empty line after a body.
        if matches!(input[0], b'\r' | b'\n') && self.head.is_empty() {
            return Ok(1);
        }
        let Some(item) = self.outstanding.front().map(|asked| asked.item) else {
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

    /// Chooses the next phase after a complete head, depending on the framing of the body (RFC 9112, section 6.3).
    fn enter(&mut self, facts: ResponseHead) -> Result<(), Fault> {
        if facts.status < 200 {
            // Interim responses (status 1xx) are skipped. A switch to another protocol is invalid, because the client
            // never requests a switch.
            return match facts.status {
                101 => Err(Fault::Malformed("a switch to another protocol that was not asked for (status 101)")),
                100..200 => Ok(()),
                _ => Err(Fault::Malformed("a status below 100")),
            };
        }
        (self.status, self.head_bytes) = (facts.status, self.bytes);
        self.keep_alive = facts.keep_alive;
        let is_refusal = self.outstanding().is_some_and(|request| !request.expected.takes(facts.status));
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

    /// Returns an error if bytes follow the answer that just ended and do not begin another answer. If an error is
    /// returned, the request of the ended answer counts as failed. If other requests still wait for answers, the bytes
    /// after the ended answer are read as the next answer. Empty lines are skipped.
    pub(super) fn check_end(&self, rest: &[u8]) -> Result<(), Fault> {
        let next = rest.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).map_or(&[][..], |at| &rest[at..]);
        let is_surplus = self.outstanding.len() == 1 && !begins_answer(next);
        match (is_surplus, self.status) {
            (true, 204 | 304) => Err(Fault::Malformed("a body after a status 204 or 304, which have none")),
            (true, _) => Err(Fault::Malformed("bytes after the last response")),
            (false, _) => Ok(()),
        }
    }

    /// Returns the request to which the next response belongs.
    fn outstanding(&self) -> Option<&Request> {
        self.outstanding.front().map(|asked| &self.requests[usize::from(asked.item)])
    }

    /// Examines a piece of a body that is not chunked.
    pub(super) fn look(&mut self, piece: &[u8]) {
        self.refusal.add(piece);
        if let Some(request) = wanted(&self.requests, &self.outstanding) {
            let piece = Piece { bytes: piece, ends_chunk: false, status: self.status };
            self.examiner.look(request, &mut self.live, piece);
        }
    }

    pub(super) fn complete(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) {
        let phase = std::mem::replace(&mut self.phase, Phase::Head);
        let Some(request) = self.outstanding.pop_front().map(|asked| &self.requests[usize::from(asked.item)]) else {
            return;
        };
        progress.completed += 1;
        let wrong = if request.is_examined { self.examiner.end(request, &mut self.live) } else { None };
        let outcome = match (request.expected.takes(self.status), wrong) {
            (true, Some(fault)) => Outcome::Failed(fault),
            (true, None) => Outcome::Expected,
            (false, _) => Outcome::Unexpected,
        };
        let (bytes, events) = (std::mem::take(&mut self.bytes), self.examiner.take_events());
        self.last_body_bytes = Some(match phase {
            Phase::Chunks(chunks) => chunks.data_bytes(),
            _ => bytes.saturating_sub(self.head_bytes),
        });
        done(Done { which: Which::Oldest, status: self.status, outcome, bytes, events });
        // If a response is complete before its request was sent completely, the connection cannot be used any more.
        let overtook = self.given == 0;
        self.given = self.given.saturating_sub(1);
        progress.close |= !self.keep_alive || overtook;
        if !self.keep_alive {
            self.leave_behind(progress, done);
        }
    }

    /// Reports all requests that wait for an answer as not processed, because the connection's last answer has arrived.
    /// After the last answer of a connection, a server processes no more requests (RFC 9112, section 9.6).
    fn leave_behind(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) {
        progress.completed += self.outstanding.len() as u32;
        let left = Done { outcome: Outcome::Failed(Fault::BehindClose), ..Done::OLDEST };
        self.outstanding.drain(..).for_each(|_| done(left));
        (self.given, self.sent) = (0, 0);
    }
}

/// Handles bytes that arrive when no request waits for an answer. When a server closes an idle connection, it may send
/// the status 408 (RFC 9110, section 15.5.9). After the status 408, the connection ends, but no request has failed.
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

/// Maximum number of bytes of an invalid line that the error message shows.
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

/// Returns an error if the first bytes of a response cannot be HTTP/1. Does not wait for the end of a line.
fn check_begin(head: &[u8]) -> Result<(), Fault> {
    if begins_answer(head) { Ok(()) } else { Err(Fault::Malformed("the response does not begin with HTTP/1.")) }
}

/// Returns true if an HTTP/1 response may begin with `bytes`.
fn begins_answer(bytes: &[u8]) -> bool {
    const HTTP1_PREFIX: &[u8] = b"HTTP/1.";
    HTTP1_PREFIX.starts_with(&bytes[..bytes.len().min(HTTP1_PREFIX.len())])
}
