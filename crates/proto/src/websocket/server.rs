//! WebSocket server: sends every message back frame by frame, so no message is stored as a whole.
//!
//! Text is not checked to be UTF-8, because it is only sent back to its sender.

use super::frame::{self, Piece, Reader};
use super::handshake::{accept_response, request_key};
use super::mask;
use crate::http1::HeadBuffer;
use crate::outbox::SendBuffer;
use crate::{Fault, Progress, Session};

/// Maximum size of the send buffer that an idle connection keeps, bytes.
const KEPT_BYTES: usize = 4096;

/// Server side of one connection.
pub struct ServerSession {
    head: HeadBuffer,
    /// True once the handshake is complete.
    open: bool,
    /// True after a close frame was sent or the handshake was refused. While this flag is true, all input is ignored.
    over: bool,
    reader: Reader,
    outgoing: SendBuffer,
    /// True if messages are dropped instead of sent back.
    drops: bool,
}

impl Default for ServerSession {
    fn default() -> Self {
        let (head, reader, outgoing) = (HeadBuffer::default(), Reader::new(true), SendBuffer::default());
        Self { head, open: false, over: false, reader, outgoing, drops: false }
    }
}

impl ServerSession {
    /// Creates a session that drops the messages of the client. The server sends a message only if the caller calls
    /// [`ServerSession::say`].
    pub fn silent() -> Self {
        Self { drops: true, ..Self::default() }
    }

    /// Queues a text message.
    pub fn say(&mut self, text: &[u8]) {
        let (begin, length) = frame::head(frame::TEXT, true, text.len() as u64, false);
        self.outgoing.append(&begin[..length]);
        self.outgoing.append(text);
    }

    /// Queues a close frame that announces the regular end of the connection.
    pub fn leave(&mut self) {
        self.close(&1000_u16.to_be_bytes());
    }
}

impl Session for ServerSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.outgoing.take_into(KEPT_BYTES, out)
    }

    fn wants_transmit(&self) -> bool {
        self.outgoing.waiting() > 0
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let mut rest = input;
        if !self.open && !self.over {
            match self.head.collect(input) {
                Ok(None) => return Ok(Progress::default()),
                Ok(Some(used)) => rest = &input[used..],
                Err(_) => return Ok(self.refuse(431)),
            }
            let answer = request_key(self.head.head(input, input.len() - rest.len())).map(accept_response);
            self.head.clear();
            match answer {
                Ok(agreement) => self.outgoing.append(agreement.as_bytes()),
                Err(status) => return Ok(self.refuse(status)),
            }
            self.open = true;
        }
        let mut progress = Progress::default();
        while !self.over && !rest.is_empty() {
            match self.frames(&mut rest, &mut progress) {
                Ok(()) => {}
                Err(Fault::Malformed(_)) => progress.merge(self.close(&1002_u16.to_be_bytes())),
                Err(fault) => return Err(fault),
            }
        }
        Ok(progress)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn awaits_head(&self) -> bool {
        !self.open && !self.over && !self.head.is_empty()
    }

    fn head_is_late(&mut self) {
        self.refuse(408);
    }

    fn reset(&mut self) {
        self.head.clear();
        (self.open, self.over) = (false, false);
        self.reader.reset();
        self.outgoing.forget(KEPT_BYTES);
    }
}

impl ServerSession {
    /// Reads frames until all input is used or the connection is over.
    fn frames(&mut self, rest: &mut &[u8], progress: &mut Progress) -> Result<(), Fault> {
        while let Some(piece) = self.reader.next(rest)? {
            match piece {
                Piece::Data { head, from, bytes, ends } => {
                    progress.completed += u32::from(ends && head.fin);
                    if self.drops {
                        continue;
                    }
                    if from == 0 {
                        let (begin, length) = frame::head(head.opcode, head.fin, head.length, false);
                        self.outgoing.append(&begin[..length]);
                    }
                    let to = self.outgoing.end();
                    let at = to.len();
                    to.extend_from_slice(bytes);
                    mask::apply(&mut to[at..], head.mask, from);
                }
                Piece::Control { opcode: frame::PING, payload } => {
                    frame::write_control(self.outgoing.end(), frame::PONG, payload, None);
                }
                Piece::Control { opcode: frame::CLOSE, payload } => {
                    let wrong = 1002_u16.to_be_bytes();
                    let code = payload.get(..2).filter(|_| frame::close_is_right(payload));
                    let code = if payload.is_empty() { &[] } else { code.unwrap_or(&wrong) };
                    let code: Vec<u8> = code.to_vec();
                    progress.merge(self.close(&code));
                    return Ok(());
                }
                Piece::Control { .. } => {}
            }
        }
        Ok(())
    }

    /// Queues a close frame, and ends the connection after it.
    fn close(&mut self, code: &[u8]) -> Progress {
        frame::write_control(self.outgoing.end(), frame::CLOSE, code, None);
        self.over = true;
        Progress { linger: true, ..Progress::CLOSE }
    }

    fn refuse(&mut self, status: u16) -> Progress {
        let line = match status {
            408 => "408 Request Timeout",
            426 => "426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
            431 => "431 Request Header Fields Too Large",
            _ => "400 Bad Request",
        };
        let answer = format!("HTTP/1.1 {line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        self.outgoing.append(answer.as_bytes());
        self.over = true;
        Progress { linger: true, ..Progress::CLOSE }
    }
}
