//! Forwards the response of the upstream server until it is complete or the upstream connection has ended.

use super::{Answer, Next, Pair, Phase};
use crate::proxy::body::Body;
use crate::proxy::end::Read;
use crate::proxy::head;
use crate::proxy::io::Io;

impl Pair {
    /// Forwards bytes of the response, with at most one read.
    pub(super) fn pass_down(&mut self, io: &mut Io) -> Next {
        let Some(upstream) = &mut self.upstream else { return Next::Wait };
        if !upstream.readable {
            return Next::Wait;
        }
        let read = io.read(upstream);
        match read {
            Read::Bytes(n) => {
                self.progress_ms = io.now_ms;
                self.kept = false;
                // The buffer is moved out of `io` while `answer` uses its bytes, and is then moved back.
                let buffer = std::mem::take(&mut io.buffer);
                let next = self.answer(io, &buffer[..n]);
                io.buffer = buffer;
                next
            }
            Read::Nothing => Next::Wait,
            Read::End | Read::Broken => self.upstream_ended(io, matches!(read, Read::End)),
        }
    }

    /// Handles bytes from the upstream server.
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

    /// Handles bytes from the upstream server that begin with the head of a response.
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
        self.response_begun = true;
        self.keep_upstream = found.keep;
        // A body without a declared length ends only when the connection ends.
        self.keep_client &= found.body != Body::UntilClose;
        self.answer = Answer::Body(found.body);
        let keeps_fields = self.keep_client && (found.keep || !found.names_connection);
        if keeps_fields && !found.is_old {
            return self.answer_body_with(io, bytes, found.length);
        }
        let out = self.to_client.buffer();
        let begin = out.len();
        if keeps_fields {
            out.extend_from_slice(head);
        } else {
            let extra: &[u8] = if self.keep_client { b"" } else { b"Connection: close\r\n" };
            head::copy_without_connection(head, &[], extra, out);
        }
        head::set_own_version(&mut out[begin..]);
        self.answer_body(io, rest)
    }

    fn answer_body(&mut self, io: &mut Io, bytes: &[u8]) -> Next {
        self.answer_body_with(io, bytes, 0)
    }

    /// Sends `bytes`, if possible with one system call. The first `before` bytes are the head of the response, and all
    /// other bytes are a part of its body.
    fn answer_body_with(&mut self, io: &mut Io, bytes: &[u8], before: usize) -> Next {
        let Answer::Body(body) = &mut self.answer else { return Next::Close };
        let Ok(own) = body.take(&bytes[before..]) else { return Next::Close };
        let done = body.done();
        if before + own < bytes.len() {
            // The upstream server sent more bytes than it announced, so the upstream connection must not be used again.
            self.keep_upstream = false;
        }
        match self.to_client.send(&mut self.client, &bytes[..before + own]) {
            Ok(taken) => io.sent(taken),
            Err(()) => return Next::Close,
        }
        // A rewritten head that waits in the buffer is sent with the system call that sends the body.
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

    /// Ends an exchange whose response is complete.
    fn finish(&mut self, io: &mut Io) -> Next {
        (self.answer, self.response_begun) = (Answer::Done, false);
        io.cell.requests.add(1);
        let all_sent = self.upload.done() && self.to_upstream.is_empty();
        if let Some(end) = self.detach(io) {
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
        // If the client has already sent another request, the proxy serves the other clients before it handles this
        // request.
        if self.input.is_empty() && !self.client.readable { Next::Wait } else { Next::Again }
    }

    /// Handles the end of the upstream connection. The end of the connection completes a response without a declared
    /// length. A response that marks its end in another way is incomplete, because the upstream connection has ended
    /// too early.
    fn upstream_ended(&mut self, io: &mut Io, in_order: bool) -> Next {
        self.keep_upstream = false;
        if in_order && self.answer == Answer::Body(Body::UntilClose) {
            return self.finish(io);
        }
        if let Some(end) = self.detach(io) {
            io.drop_end(end);
        }
        if self.kept && self.repeatable {
            io.repeated += 1;
            return match self.attach(io, false) {
                Ok(()) => self.exchange(io),
                Err(status) => self.refuse(io, status),
            };
        }
        if self.response_begun { Next::Close } else { self.refuse(io, 502) }
    }
}
