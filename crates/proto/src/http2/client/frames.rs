//! Handles frames from the server, except for headers and data of responses (see `answers.rs`).

use super::completions::Completions;
use super::{ClientSession, Table};
use crate::Fault;
use crate::http2::error_codes;
use crate::http2::frame::{self, FrameHeader};
use crate::http2::hpack::TABLE_BYTES;
use crate::http2::stream_list::AnyStream;

/// Maximum size of unsent answers to SETTINGS and PING, bytes.
const MAX_OWED: usize = 64 * 1024;

/// Fault for a PUSH_PROMISE frame. RFC 9113, section 6.6, forbids PUSH_PROMISE frames after SETTINGS_ENABLE_PUSH 0.
const PUSHED: Fault = Fault::Malformed(
    "the server pushes a response (PUSH_PROMISE), although the client's SETTINGS refuse pushes; switch off its push",
);

impl ClientSession {
    /// Handles a complete frame of any kind except DATA.
    pub(super) fn frame(
        &mut self,
        head: &FrameHeader,
        payload: &[u8],
        completions: &mut Completions<'_>,
    ) -> Result<(), Fault> {
        self.header_block.allows(head)?;
        head.fits()?;
        if !self.settled && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            return Err(Fault::Malformed("HTTP/2 does not begin with SETTINGS"));
        }
        match head.kind {
            frame::HEADERS => self.headers(head, payload, completions),
            frame::CONTINUATION => self.continuation(payload, head.has(frame::END_HEADERS), completions),
            frame::SETTINGS => self.settings(head, payload),
            frame::PING => self.ping(head, payload),
            frame::WINDOW_UPDATE => self.window(head, payload),
            frame::RST_STREAM => self.stream_reset(head, payload, completions),
            frame::GOAWAY => self.goaway(head, payload, completions),
            frame::PUSH_PROMISE => Err(PUSHED),
            frame::PRIORITY_FRAME if head.stream == 0 => Err(Fault::Malformed("a PRIORITY of HTTP/2 of no stream")),
            // PRIORITY is obsolete (section 5.3.2), and unknown frames are skipped (section 5.5).
            _ => Ok(()),
        }
    }

    fn settings(&mut self, head: &FrameHeader, payload: &[u8]) -> Result<(), Fault> {
        let Some(settings) = frame::settings(head, payload)? else { return Ok(()) };
        for (name, value) in settings {
            match name {
                // If its table has become smaller, the server expects a header block that sets the size of the table
                // (section 4.3.1). Blocks that do not use the table set its size to 0.
                frame::HEADER_TABLE_SIZE if (value as usize) < TABLE_BYTES => self.table = Table::None,
                frame::MAX_CONCURRENT_STREAMS => self.max_streams = value,
                frame::INITIAL_WINDOW_SIZE => {
                    let change = self.sending.set_initial(value)?;
                    self.streams.widen(change)?;
                }
                // Only a client may enable server push (section 6.5.2).
                frame::ENABLE_PUSH if value != 0 => return Err(frame::WRONG_SETTINGS),
                frame::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => return Err(frame::WRONG_SETTINGS),
                _ => {}
            }
        }
        self.settled = true;
        frame::write(self.outgoing.end(), frame::SETTINGS, frame::ACK, 0, &[]);
        self.owed()
    }

    fn ping(&mut self, head: &FrameHeader, payload: &[u8]) -> Result<(), Fault> {
        if head.stream != 0 {
            return Err(Fault::Malformed("a PING of HTTP/2 of a stream"));
        }
        if !head.has(frame::ACK) {
            frame::write(self.outgoing.end(), frame::PING, frame::ACK, 0, payload);
        }
        self.owed()
    }

    /// Returns an error if the unsent answers to SETTINGS and PING have reached their maximum size. The error ends the
    /// connection of a server that sends SETTINGS or PING without end and does not read the answers.
    fn owed(&self) -> Result<(), Fault> {
        match self.outgoing.waiting() {
            0..MAX_OWED => Ok(()),
            _ => Err(Fault::Limit("SETTINGS and PING without end")),
        }
    }

    fn window(&mut self, head: &FrameHeader, payload: &[u8]) -> Result<(), Fault> {
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

    /// Ends all streams and opens no further ones. Sends GOAWAY with the reason, but only if the server's settings have
    /// arrived, because a GOAWAY before them is not allowed.
    pub(super) fn give_up(&mut self, fault: &Fault) {
        self.leaving = true;
        self.streams.clear();
        self.waiting.clear();
        if self.settled {
            let code = error_codes::code(fault).to_be_bytes();
            frame::write(self.outgoing.end(), frame::GOAWAY, 0, 0, &[[0; 4], code].concat());
        }
    }

    fn stream_reset(
        &mut self,
        head: &FrameHeader,
        payload: &[u8],
        completions: &mut Completions<'_>,
    ) -> Result<(), Fault> {
        let code = frame::number(payload).filter(|_| self.was_opened(head.stream));
        let code = code.ok_or(Fault::Malformed("a RST_STREAM of HTTP/2 is wrong"))?;
        if let Some(stream) = self.streams.close(head.stream) {
            let said = || format!("the server reset the stream of the request with {}", error_codes::shown(code));
            self.ended_by_server.get_or_insert_with(said);
            self.refusals.end(head.stream, false);
            let fault = if code == frame::REFUSED_STREAM { Fault::StreamRefused } else { Fault::StreamReset };
            completions.fail(stream.id, fault);
        }
        Ok(())
    }

    /// Handles GOAWAY: the server accepts no more requests on this connection. Requests that the server did not process
    /// may be sent again on another connection. The server completes the requests that it has begun to process. If the
    /// server processed no request at all, the connection counts as refused. Such a server would probably also refuse a
    /// new connection at once.
    fn goaway(&mut self, head: &FrameHeader, payload: &[u8], completions: &mut Completions<'_>) -> Result<(), Fault> {
        let last = frame::number(payload).filter(|_| head.stream == 0);
        let last = last.ok_or(Fault::Malformed("a GOAWAY of HTTP/2 of a stream"))? & 0x7fff_ffff;
        let error = payload.get(4..8).and_then(frame::number).unwrap_or_default();
        let text = payload.get(8..).unwrap_or_default();
        let refuses_all = last == 0;
        if error != 0 || !text.is_empty() || refuses_all {
            self.ended_by_server = Some(leaving(error, text, refuses_all));
        }
        if error != 0 && self.streams.is_empty() && self.waiting.is_empty() {
            return Err(Fault::Malformed("the server ends the connection with an error (GOAWAY)"));
        }
        self.leaving = true;
        let fault = if refuses_all { Fault::ConnectionRefused } else { Fault::Unprocessed };
        while let Some(stream) = self.streams.close_after(last) {
            self.refusals.end(stream.number, false);
            completions.fail(stream.id, fault);
        }
        while let Some(waiting) = self.waiting.pop_front() {
            completions.fail(waiting.id, fault);
        }
        Ok(())
    }
}

/// Maximum number of bytes that are shown of the text in a GOAWAY frame.
const MAX_SHOWN: usize = 200;

/// Describes a GOAWAY frame for the user. `refuses_all` is true if the server processed no request of the connection.
fn leaving(code: u32, text: &[u8], refuses_all: bool) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN)]);
    let words = if text.is_empty() { String::new() } else { format!(" and the words {:?}", run::visible(&text)) };
    let ends = if refuses_all { "ends the connection without processing a request" } else { "ends the connection" };
    format!("the server {ends} (GOAWAY) with {}{words}", error_codes::shown(code))
}
