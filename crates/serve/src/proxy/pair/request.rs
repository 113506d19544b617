//! Forwards a request: waits for its head, takes an upstream connection, and sends head and body.

use proto::http1::empty_lines;

use super::{Answer, Next, Pair, Phase};
use crate::proxy::end::{End, Read};
use crate::proxy::head::{self, Refused};
use crate::proxy::io::Io;

/// Outcome of reading a request head.
enum Begin {
    Incomplete,
    Forwarded,
    /// The request must not be forwarded. The proxy's own response waits to be sent.
    Answered,
}

impl Pair {
    /// Waits for the head of a request.
    pub(super) fn idle(&mut self, io: &mut Io) -> Next {
        if !self.to_client.is_empty() {
            return Next::Wait;
        }
        // Bytes that arrived together with the previous request are parsed before the socket is read again.
        let mut looked = false;
        loop {
            if !self.input.is_empty() && (!looked || self.phase == Phase::Idle) {
                match self.begin(io) {
                    Ok(Begin::Forwarded) => return self.exchange(io),
                    Ok(Begin::Answered) => return self.end(io),
                    Ok(Begin::Incomplete) => {}
                    Err(status) => return self.refuse(io, status),
                }
            }
            if looked || !self.client.readable {
                return if self.client.readable { Next::Again } else { Next::Wait };
            }
            looked = true;
            match io.read(&mut self.client) {
                Read::Bytes(n) => {
                    io.received(n);
                    self.input.extend_from_slice(&io.buffer[..n]);
                }
                Read::Nothing => return Next::Wait,
                Read::End | Read::Broken => return Next::Close,
            }
        }
    }

    /// Starts an exchange if the head of a request is complete.
    fn begin(&mut self, io: &mut Io) -> Result<Begin, Refused> {
        self.input.drain(..empty_lines(&self.input));
        let Some(found) = head::request(&self.input, &mut self.request)? else {
            if !self.input.is_empty() {
                self.head_since_ms.get_or_insert(io.now_ms);
            }
            return if self.input.len() > io.settings.head_bytes { Err(431) } else { Ok(Begin::Incomplete) };
        };
        self.head_since_ms = None;
        if found.length > io.settings.head_bytes {
            return Err(431);
        }
        if found.answered {
            self.to_client.push(&self.request);
            io.cell.requests.add(1);
            return Ok(Begin::Answered);
        }
        self.input.drain(..found.length);
        (self.upload, self.keep_client, self.is_head) = (found.body, found.keep, found.is_head);
        (self.repeatable, self.answer, self.response_begun) = (found.repeatable, Answer::Head, false);
        (self.phase, self.progress_ms) = (Phase::Exchange, io.now_ms);
        self.may_probe = found.interim;
        self.partial.clear();
        // A request that must not be sent twice gets a new connection, because the upstream server may have closed the
        // kept connections.
        self.attach(io, self.repeatable)?;
        Ok(Begin::Forwarded)
    }

    /// Takes an unused upstream connection if `may_keep` is true and there is one. If there is no unused upstream
    /// connection, or `may_keep` is false, starts a new connection. Sends the head of the request on the chosen
    /// connection.
    pub(super) fn attach(&mut self, io: &mut Io, may_keep: bool) -> Result<(), Refused> {
        self.to_upstream.clear();
        let kept = if may_keep { io.take_kept() } else { None };
        (self.kept, self.connecting) = (kept.is_some(), kept.is_none());
        let mut end = match kept {
            Some(end) => end,
            None => io.connect().map_err(|()| 502_u16)?,
        };
        if self.connecting {
            self.to_upstream.push(&self.request);
        } else if self.to_upstream.send(&mut end, &self.request).is_err() {
            // The upstream connection is already broken. The next read will report the error, and the proxy then tries
            // another connection.
            end.readable = true;
        }
        self.upstream = Some(end);
        io.attached += 1;
        Ok(())
    }

    /// Takes the upstream connection away from the pair, and returns it.
    pub(in crate::proxy) fn detach(&mut self, io: &mut Io) -> Option<End> {
        let end = self.upstream.take()?;
        io.attached -= 1;
        Some(end)
    }

    pub(super) fn exchange(&mut self, io: &mut Io) -> Next {
        let mut next = Next::Wait;
        if self.connecting && !self.connected() {
            return match &self.upstream {
                Some(end) if end.writable => self.refuse(io, 502),
                _ => Next::Wait,
            };
        }
        if let Some(end) = &mut self.upstream
            && self.to_upstream.flush(end).is_err()
        {
            end.readable = true;
        }
        if self.uploading() && self.to_upstream.is_empty() {
            match self.pass_up(io) {
                Ok(step) => next = step,
                Err(close) => return close,
            }
        }
        if self.to_client.is_empty() {
            match self.pass_down(io) {
                Next::Wait => {}
                step => return step,
            }
        }
        next
    }

    /// Returns true if connecting to the upstream server has succeeded.
    fn connected(&mut self) -> bool {
        let Some(end) = &mut self.upstream else { return false };
        if !end.writable || sys::socket::take_error(end.owned()).is_err() {
            return false;
        }
        self.connecting = false;
        true
    }

    /// Forwards the request's body, with at most one read.
    fn pass_up(&mut self, io: &mut Io) -> Result<Next, Next> {
        let Some(upstream) = &mut self.upstream else { return Ok(Next::Wait) };
        if !self.input.is_empty() {
            let Ok(own) = self.upload.take(&self.input) else { return Err(self.refuse(io, 400)) };
            // If the upstream connection is broken, the next read reports the error.
            let _ = self.to_upstream.send(upstream, &self.input[..own]);
            self.input.drain(..own);
            return Ok(if self.upload.done() { Next::Wait } else { Next::Again });
        }
        if !self.client.readable {
            return Ok(Next::Wait);
        }
        match io.read(&mut self.client) {
            Read::Bytes(n) => {
                io.received(n);
                self.progress_ms = io.now_ms;
                let Ok(own) = self.upload.take(&io.buffer[..n]) else { return Err(self.refuse(io, 400)) };
                if self.to_upstream.send(upstream, &io.buffer[..own]).is_err() {
                    upstream.readable = true;
                }
                self.input.extend_from_slice(&io.buffer[own..n]);
                let more = !self.upload.done() && self.client.readable && self.to_upstream.is_empty();
                Ok(if more { Next::Again } else { Next::Wait })
            }
            Read::Nothing => Ok(Next::Wait),
            // The client's request is incomplete, so there will be no response.
            Read::End | Read::Broken => Err(Next::Close),
        }
    }
}
