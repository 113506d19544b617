//! Ends a client's connection: sends error responses, and closes in a way that lets the client read its last response.

use super::{Answer, Next, Pair, Phase};
use crate::proxy::end::Read;
use crate::proxy::head::Refused;
use crate::proxy::io::Io;

impl Pair {
    /// Sends an error response and ends the connection.
    pub(in crate::proxy) fn refuse(&mut self, io: &mut Io, status: Refused) -> Next {
        if let Some(end) = self.detach(io) {
            io.drop_end(end);
        }
        if self.response_begun {
            return Next::Close;
        }
        io.refused(status);
        self.to_client.push(io.settings.reply(status));
        self.end(io)
    }

    /// Sends an interim response to a waiting client, at most once per request and only before the response itself. If
    /// the client has left, its host answers the interim response with a reset.
    pub(in crate::proxy) fn probe(&mut self) -> Result<(), ()> {
        let untouched = self.answer == Answer::Head && self.partial.is_empty() && self.to_client.is_empty();
        if untouched && std::mem::take(&mut self.may_probe) {
            self.to_client.send(&mut self.client, b"HTTP/1.1 100 Continue\r\n\r\n").map(drop)
        } else {
            Ok(())
        }
    }

    /// Ends the connection after all waiting bytes were written.
    pub(super) fn end(&mut self, io: &mut Io) -> Next {
        self.phase = Phase::Closing;
        self.closing(io)
    }

    pub(super) fn closing(&mut self, io: &mut Io) -> Next {
        match self.to_client.flush(&mut self.client) {
            Ok(taken) => io.sent(taken),
            Err(()) => return Next::Close,
        }
        if !self.to_client.is_empty() {
            return Next::Wait;
        }
        // Closing a socket with unread bytes would reset the connection, and the client could lose the response.
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

    pub(super) fn linger(&mut self, io: &mut Io) -> Next {
        if !self.client.readable {
            return Next::Wait;
        }
        match io.read(&mut self.client) {
            Read::Bytes(_) if self.client.readable => Next::Again,
            Read::Bytes(_) | Read::Nothing => Next::Wait,
            Read::End | Read::Broken => Next::Close,
        }
    }
}
