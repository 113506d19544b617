//! What the server says of the connection: every frame but those of a response.

use super::heard::Heard;
use super::{ClientSession, Table};
use crate::Fault;
use crate::http2::frame::{self, Head};
use crate::http2::why;

/// Answers to SETTINGS and PING that a server makes us keep at most, bytes.
const MOST_OWED: usize = 64 * 1024;

impl ClientSession {
    /// A whole frame that is no DATA.
    pub(super) fn frame(&mut self, head: &Head, payload: &[u8], heard: &mut Heard<'_>) -> Result<(), Fault> {
        self.gathering.allows(head)?;
        head.fits()?;
        if !self.settled && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            return Err(Fault::Malformed("HTTP/2 does not begin with SETTINGS"));
        }
        match head.kind {
            frame::HEADERS => self.headers(head, payload, heard),
            frame::CONTINUATION => self.continuation(payload, head.has(frame::END_HEADERS), heard),
            frame::SETTINGS => self.settings(head, payload),
            frame::PING => self.ping(head, payload),
            frame::WINDOW_UPDATE => self.window(head, payload),
            frame::RST_STREAM => self.stream_reset(head, payload, heard),
            frame::GOAWAY => self.goaway(head, payload, heard),
            frame::PUSH_PROMISE => Err(Fault::Malformed("a push, which was refused at the begin")),
            frame::PRIORITY_FRAME if head.stream == 0 => Err(Fault::Malformed("a PRIORITY of HTTP/2 of no stream")),
            // PRIORITY says nothing any more (section 5.3.2), and whatever is not known is read over (section 5.5).
            _ => Ok(()),
        }
    }

    fn settings(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        let Some(settings) = frame::settings(head, payload)? else { return Ok(()) };
        for (name, value) in settings {
            match name {
                frame::HEADER_TABLE_SIZE if (value as usize) < self.requests[0].blocks.table => {
                    self.table = Table::None
                }
                frame::MAX_CONCURRENT_STREAMS => self.most_streams = value,
                frame::INITIAL_WINDOW_SIZE => {
                    let change = self.sending.set_initial(value)?;
                    self.streams.widen(change)?;
                }
                // Only a client may be pushed to (section 6.5.2).
                frame::ENABLE_PUSH if value != 0 => return Err(frame::WRONG_SETTINGS),
                frame::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => return Err(frame::WRONG_SETTINGS),
                _ => {}
            }
        }
        self.settled = true;
        frame::write(self.outgoing.end(), frame::SETTINGS, frame::ACK, 0, &[]);
        self.owed()
    }

    fn ping(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        if head.stream != 0 {
            return Err(Fault::Malformed("a PING of HTTP/2 of a stream"));
        }
        if !head.has(frame::ACK) {
            frame::write(self.outgoing.end(), frame::PING, frame::ACK, 0, payload);
        }
        self.owed()
    }

    /// What is owed is bounded: a server that asks and does not read is left.
    fn owed(&self) -> Result<(), Fault> {
        match self.outgoing.waiting() {
            0..MOST_OWED => Ok(()),
            _ => Err(Fault::Limit("SETTINGS and PING without end")),
        }
    }

    fn window(&mut self, head: &Head, payload: &[u8]) -> Result<(), Fault> {
        let by = frame::number(payload).map(|by| by & 0x7fff_ffff);
        let by = by.filter(|by| *by > 0).ok_or(Fault::Malformed("a WINDOW_UPDATE of HTTP/2 is wrong"))?;
        match head.stream {
            0 => self.sending.widen(by),
            number if !self.was_opened(number) => {
                Err(Fault::Malformed("a WINDOW_UPDATE of a stream that was not opened"))
            }
            number => {
                let widened = self.streams.find(number).map_or(Ok(()), |stream| stream.widen(i64::from(by)));
                if widened.is_err() {
                    let code = frame::FLOW_CONTROL_ERROR.to_be_bytes();
                    frame::write(self.outgoing.end(), frame::RST_STREAM, 0, number, &code);
                }
                widened
            }
        }
    }

    /// Says why the connection ends, and opens nothing more; to a server that has said its settings.
    pub(super) fn give_up(&mut self, fault: &Fault) {
        self.leaving = true;
        self.streams.clear();
        self.waiting.clear();
        if self.settled {
            let code = why::code(fault).to_be_bytes();
            frame::write(self.outgoing.end(), frame::GOAWAY, 0, 0, &[[0; 4], code].concat());
        }
    }

    fn stream_reset(&mut self, head: &Head, payload: &[u8], heard: &mut Heard<'_>) -> Result<(), Fault> {
        let code = frame::number(payload).filter(|_| self.was_opened(head.stream));
        let code = code.ok_or(Fault::Malformed("a RST_STREAM of HTTP/2 is wrong"))?;
        if let Some(stream) = self.streams.close(head.stream) {
            let fault = if code == frame::REFUSED_STREAM { Fault::StreamRefused } else { Fault::StreamReset };
            heard.fail(stream.id, fault);
        }
        Ok(())
    }

    /// The server takes no further requests. Those that it has not looked at may be made again elsewhere, the others are
    /// finished. One that looked at none refuses: it would refuse them again, as fast as they can be sent.
    fn goaway(&mut self, head: &Head, payload: &[u8], heard: &mut Heard<'_>) -> Result<(), Fault> {
        let last = frame::number(payload).filter(|_| head.stream == 0);
        let last = last.ok_or(Fault::Malformed("a GOAWAY of HTTP/2 of a stream"))? & 0x7fff_ffff;
        let error = payload.get(4..).and_then(frame::number).unwrap_or_default();
        if error != 0 && self.streams.is_empty() && self.waiting.is_empty() {
            return Err(Fault::Malformed("the server ends the connection with an error (GOAWAY)"));
        }
        self.leaving = true;
        let fault = if last == 0 { Fault::StreamRefused } else { Fault::Unprocessed };
        while let Some(stream) = self.streams.close_after(last) {
            heard.fail(stream.id, fault);
        }
        while let Some(waiting) = self.waiting.pop_front() {
            heard.fail(waiting.id, fault);
        }
        Ok(())
    }
}
