//! One client of the proxy and the upstream connection that works for it: bytes go from one to the other as far as
//! the other takes them. While bytes wait for one side, the other is not read: that is the backpressure, both ways.
//!
//! Plain forwarding: a head that concerns nobody but its reader passes unchanged, bodies pass unchanged always. A
//! request that a kept upstream connection lost before any byte of an answer is sent once more if it may be.

use super::body::Body;
use super::end::{End, Out, Read};
use super::head::{self, Refused};
use super::worker::Io;

/// Where an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request head is awaited.
    Idle,
    /// A request is being forwarded or answered.
    Exchange,
    /// What waits is written, then our side is ended.
    Closing,
    /// Our side has ended; what the client still sends is read and dropped, so that it gets to read the answer.
    Lingering,
}

/// What of the response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Head,
    Body(Body),
    Done,
}

/// Whether a pair goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    /// There is more to do at once, after the others had their turn.
    Again,
    Close,
}

pub(super) struct Pair {
    pub(super) client: End,
    pub(super) upstream: Option<End>,
    pub(super) phase: Phase,
    /// Told apart from an earlier pair in the same place.
    pub(super) serial: u32,
    /// When something last moved, milliseconds.
    pub(super) progress_ms: u64,
    /// It stands in the line of deadlines.
    pub(super) watched: bool,
    /// It stands in the list of those to be continued.
    pub(super) again: bool,
    connecting: bool,
    /// The upstream connection was used before, and no byte of this answer has come.
    kept: bool,
    /// Bytes of the client that belong to the next request, or to a head that is not complete.
    input: Vec<u8>,
    /// Bytes of a response head that is not complete.
    partial: Vec<u8>,
    /// The head as it was sent, for sending it once more.
    request: Vec<u8>,
    to_client: Out,
    to_upstream: Out,
    upload: Body,
    answer: Answer,
    is_head: bool,
    keep_client: bool,
    keep_upstream: bool,
    repeatable: bool,
    /// A byte of the final response has been passed on, so no other status can be told any more.
    told: bool,
}

impl Pair {
    pub(super) fn new(client: End, serial: u32, now_ms: u64) -> Self {
        Self {
            client,
            upstream: None,
            phase: Phase::Idle,
            serial,
            progress_ms: now_ms,
            watched: false,
            again: false,
            connecting: false,
            kept: false,
            input: Vec::new(),
            partial: Vec::new(),
            request: Vec::new(),
            to_client: Out::default(),
            to_upstream: Out::default(),
            upload: Body::NONE,
            answer: Answer::Done,
            is_head: false,
            keep_client: true,
            keep_upstream: true,
            repeatable: false,
            told: false,
        }
    }

    /// Whether the client is what is waited for.
    pub(super) fn waits_for_client(&self) -> bool {
        !self.to_client.is_empty() || self.answer == Answer::Head && !self.upload.done() && self.to_upstream.is_empty()
    }

    pub(super) fn wants_client_read(&self) -> bool {
        match self.phase {
            Phase::Idle => self.to_client.is_empty(),
            Phase::Exchange => self.uploading() && self.to_upstream.is_empty(),
            Phase::Closing => false,
            Phase::Lingering => true,
        }
    }

    pub(super) fn wants_client_write(&self) -> bool {
        !self.to_client.is_empty()
    }

    pub(super) fn wants_upstream_read(&self) -> bool {
        !self.connecting && self.to_client.is_empty()
    }

    pub(super) fn wants_upstream_write(&self) -> bool {
        self.connecting || !self.to_upstream.is_empty()
    }

    fn uploading(&self) -> bool {
        !self.upload.done() && !self.connecting
    }

    /// Moves whatever can be moved. A turn reads each side at most once, so that one fast pair does not keep others
    /// waiting; `Again` says that there may be more.
    pub(super) fn turn(&mut self, io: &mut Io) -> Next {
        if self.to_client.flush(&mut self.client).map(|n| io.sent(n)).is_err() {
            return Next::Close;
        }
        match self.phase {
            Phase::Idle => self.idle(io),
            Phase::Exchange => self.exchange(io),
            Phase::Closing => self.closing(io),
            Phase::Lingering => self.linger(io),
        }
    }

    /// Awaits a request head.
    fn idle(&mut self, io: &mut Io) -> Next {
        if !self.to_client.is_empty() {
            return Next::Wait;
        }
        // What came with the request before is looked at first; afterwards only what is new.
        let mut looked = false;
        loop {
            if !self.input.is_empty() && (!looked || self.phase == Phase::Idle) {
                match self.begin(io) {
                    Ok(true) => return self.exchange(io),
                    Ok(false) => {}
                    Err(status) => return self.refuse(io, status),
                }
            }
            if looked || !self.client.readable {
                return if self.client.readable { Next::Again } else { Next::Wait };
            }
            looked = true;
            match self.client.read(&mut io.buffer) {
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
    fn begin(&mut self, io: &mut Io) -> Result<bool, Refused> {
        // Empty lines before a request are skipped (RFC 9112, section 2.2).
        let skip = self.input.iter().take_while(|&&b| b == b'\r' || b == b'\n').count();
        self.input.drain(..skip);
        let Some(found) = head::request(&self.input)? else {
            return if self.input.len() > io.settings.head_bytes { Err(431) } else { Ok(false) };
        };
        if found.length > io.settings.head_bytes {
            return Err(431);
        }
        self.request.clear();
        if found.rewrite {
            head::copy_without_connection(&self.input[..found.length], b"", &mut self.request);
        } else {
            self.request.extend_from_slice(&self.input[..found.length]);
        }
        self.input.drain(..found.length);
        (self.upload, self.keep_client, self.is_head) = (found.body, found.keep, found.is_head);
        (self.repeatable, self.answer, self.told) = (found.repeatable, Answer::Head, false);
        (self.phase, self.progress_ms) = (Phase::Exchange, io.now_ms);
        self.partial.clear();
        // What may not be sent twice does not go to a connection that may be gone already.
        self.attach(io, self.repeatable)?;
        Ok(true)
    }

    /// Takes a kept upstream connection or starts a new one, and sends the request head.
    fn attach(&mut self, io: &mut Io, may_keep: bool) -> Result<(), Refused> {
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
            // Broken already: reading it will tell, and a new one is tried.
            end.readable = true;
        }
        self.upstream = Some(end);
        Ok(())
    }

    fn exchange(&mut self, io: &mut Io) -> Next {
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

    /// Looks at the outcome of a connect once the socket is writable.
    fn connected(&mut self) -> bool {
        let Some(end) = &mut self.upstream else { return false };
        if !end.writable || sys::socket::take_error(end.owned()).is_err() {
            return false;
        }
        self.connecting = false;
        true
    }

    /// Passes the request's body on, one read at most.
    fn pass_up(&mut self, io: &mut Io) -> Result<Next, Next> {
        let Some(upstream) = &mut self.upstream else { return Ok(Next::Wait) };
        if !self.input.is_empty() {
            let own = self.upload.take(&self.input).map_err(|_| Next::Close)?;
            // A broken upstream is noticed when it is read.
            let _ = self.to_upstream.send(upstream, &self.input[..own]);
            self.input.drain(..own);
            return Ok(if self.upload.done() { Next::Wait } else { Next::Again });
        }
        if !self.client.readable {
            return Ok(Next::Wait);
        }
        match self.client.read(&mut io.buffer) {
            Read::Bytes(n) => {
                io.received(n);
                self.progress_ms = io.now_ms;
                let own = self.upload.take(&io.buffer[..n]).map_err(|_| Next::Close)?;
                if self.to_upstream.send(upstream, &io.buffer[..own]).is_err() {
                    upstream.readable = true;
                }
                self.input.extend_from_slice(&io.buffer[own..n]);
                let more = !self.upload.done() && self.client.readable && self.to_upstream.is_empty();
                Ok(if more { Next::Again } else { Next::Wait })
            }
            Read::Nothing => Ok(Next::Wait),
            // Half a request: nobody can answer it.
            Read::End | Read::Broken => Err(Next::Close),
        }
    }

    /// Passes the answer on, one read at most.
    fn pass_down(&mut self, io: &mut Io) -> Next {
        let Some(upstream) = &mut self.upstream else { return Next::Wait };
        if !upstream.readable {
            return Next::Wait;
        }
        let read = upstream.read(&mut io.buffer);
        match read {
            Read::Bytes(n) => {
                self.progress_ms = io.now_ms;
                self.kept = false;
                // The buffer is taken out while its bytes are looked at; it is put back below.
                let buffer = std::mem::take(&mut io.buffer);
                let next = self.answer(io, &buffer[..n]);
                io.buffer = buffer;
                next
            }
            Read::Nothing => Next::Wait,
            Read::End | Read::Broken => self.upstream_ended(io, matches!(read, Read::End)),
        }
    }

    /// Takes bytes of the upstream.
    fn answer(&mut self, io: &mut Io, bytes: &[u8]) -> Next {
        if self.answer != Answer::Head {
            return self.answer_body(io, bytes);
        }
        if self.partial.is_empty() {
            return self.answer_head(io, bytes);
        }
        self.partial.extend_from_slice(bytes);
        let whole = std::mem::take(&mut self.partial);
        let next = self.answer_head(io, &whole);
        if self.partial.is_empty() {
            self.partial = whole;
            self.partial.clear();
        }
        next
    }

    /// `bytes` begins with a head.
    fn answer_head(&mut self, io: &mut Io, bytes: &[u8]) -> Next {
        let found = match head::response(bytes, self.is_head) {
            Ok(Some(found)) => found,
            Ok(None) if bytes.len() <= io.settings.head_bytes => {
                self.partial = bytes.to_vec();
                return self.more_upstream();
            }
            _ => return self.refuse(io, 502),
        };
        let (head, rest) = bytes.split_at(found.length);
        if found.interim {
            self.to_client.push(head);
            let _ = self.to_client.flush(&mut self.client).map(|n| io.sent(n));
            return if rest.is_empty() { self.more_upstream() } else { self.answer_head(io, rest) };
        }
        self.told = true;
        self.keep_upstream = found.keep;
        // Without a length only the end of the connection tells the client where the body ends.
        self.keep_client &= found.body != Body::UntilClose;
        self.answer = Answer::Body(found.body);
        if self.keep_client && (found.keep || !found.names_connection) {
            return self.answer_body_with(io, bytes, found.length);
        }
        let extra: &[u8] = if self.keep_client { b"" } else { b"Connection: close\r\n" };
        head::copy_without_connection(head, extra, self.to_client.buffer());
        self.answer_body(io, rest)
    }

    fn answer_body(&mut self, io: &mut Io, bytes: &[u8]) -> Next {
        self.answer_body_with(io, bytes, 0)
    }

    /// Sends `bytes`, of which the first `before` are a head and the others of the body, in one piece.
    fn answer_body_with(&mut self, io: &mut Io, bytes: &[u8], before: usize) -> Next {
        let Answer::Body(body) = &mut self.answer else { return Next::Close };
        let Ok(own) = body.take(&bytes[before..]) else { return Next::Close };
        let done = body.done();
        if before + own < bytes.len() {
            // More than was announced: nothing that follows on this connection can be trusted.
            self.keep_upstream = false;
        }
        match self.to_client.send(&mut self.client, &bytes[..before + own]) {
            Ok(taken) => io.sent(taken),
            Err(()) => return Next::Close,
        }
        // A rewritten head that went before in the buffer leaves with the same call.
        if !self.to_client.is_empty() && self.client.writable {
            match self.to_client.flush(&mut self.client) {
                Ok(taken) => io.sent(taken),
                Err(()) => return Next::Close,
            }
        }
        if done { self.finish(io) } else { self.more_upstream() }
    }

    fn more_upstream(&self) -> Next {
        let more = self.to_client.is_empty() && self.upstream.as_ref().is_some_and(|end| end.readable);
        if more { Next::Again } else { Next::Wait }
    }

    /// The answer is complete.
    fn finish(&mut self, io: &mut Io) -> Next {
        (self.answer, self.told) = (Answer::Done, false);
        io.cell.requests.add(1);
        let all_sent = self.upload.done() && self.to_upstream.is_empty();
        if let Some(end) = self.upstream.take() {
            if self.keep_upstream && all_sent && !end.ended {
                io.keep(end);
            } else {
                io.drop_end(end);
            }
        }
        self.to_upstream.clear();
        if !all_sent || !self.keep_client {
            return self.end(io);
        }
        self.phase = Phase::Idle;
        // Pipelined requests take turns with other clients.
        if self.input.is_empty() && !self.client.readable { Next::Wait } else { Next::Again }
    }

    /// The upstream connection is over before the answer was complete, or ends it by being over.
    fn upstream_ended(&mut self, io: &mut Io, in_order: bool) -> Next {
        self.keep_upstream = false;
        if in_order && self.answer == Answer::Body(Body::UntilClose) {
            return self.finish(io);
        }
        if let Some(end) = self.upstream.take() {
            io.drop_end(end);
        }
        if self.kept && self.repeatable {
            io.repeated += 1;
            return match self.attach(io, false) {
                Ok(()) => self.exchange(io),
                Err(status) => self.refuse(io, status),
            };
        }
        if self.told { Next::Close } else { self.refuse(io, 502) }
    }

    /// Tells the client a status of our own and ends the connection.
    pub(super) fn refuse(&mut self, io: &mut Io, status: Refused) -> Next {
        if let Some(end) = self.upstream.take() {
            io.drop_end(end);
        }
        if self.told {
            return Next::Close;
        }
        io.refused(status);
        self.to_client.push(io.settings.reply(status));
        self.end(io)
    }

    /// Ends the connection once everything is written.
    fn end(&mut self, io: &mut Io) -> Next {
        self.phase = Phase::Closing;
        self.closing(io)
    }

    fn closing(&mut self, io: &mut Io) -> Next {
        match self.to_client.flush(&mut self.client) {
            Ok(taken) => io.sent(taken),
            Err(()) => return Next::Close,
        }
        if !self.to_client.is_empty() {
            return Next::Wait;
        }
        // Closing with unread bytes would reset the connection and could take the answer with it.
        if self.upload.done() && self.input.is_empty() && !self.client.readable {
            return Next::Close;
        }
        if sys::socket::shutdown_write(self.client.owned()).is_err() {
            return Next::Close;
        }
        self.input.clear();
        (self.phase, self.progress_ms) = (Phase::Lingering, io.now_ms);
        self.linger(io)
    }

    fn linger(&mut self, io: &mut Io) -> Next {
        if !self.client.readable {
            return Next::Wait;
        }
        match self.client.read(&mut io.buffer) {
            Read::Bytes(_) if self.client.readable => Next::Again,
            Read::Bytes(_) | Read::Nothing => Next::Wait,
            Read::End | Read::Broken => Next::Close,
        }
    }
}
