//! Handles frames from the client, except for headers and data of requests (see `requests.rs`).

use super::ServerSession;
use crate::http1::Site;
use crate::http2::error_codes;
use crate::http2::flow::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::http2::frame::{self, FrameHeader};
use crate::http2::stream_list::AnyStream;
use crate::{Fault, Progress};

impl<S: Site> ServerSession<S> {
    /// Writes the server's settings, and the flow-control window of the connection.
    pub(super) fn greet(&mut self) {
        let settings = [(frame::MAX_CONCURRENT_STREAMS, self.max_streams), (frame::INITIAL_WINDOW_SIZE, STREAM_WINDOW)];
        frame::write_settings(self.outgoing.end(), &settings);
        let more = (CONNECTION_WINDOW - 65_535).to_be_bytes();
        frame::write(self.outgoing.end(), frame::WINDOW_UPDATE, 0, 0, &more);
    }

    /// Sends GOAWAY with the reason, and ends all streams.
    pub(super) fn give_up(&mut self, fault: &Fault) {
        let said = [self.last_stream.to_be_bytes(), error_codes::code(fault).to_be_bytes()].concat();
        frame::write(self.outgoing.end(), frame::GOAWAY, 0, 0, &said);
        self.over = true;
        self.streams.clear();
    }

    /// Handles a complete frame of any kind except DATA.
    pub(super) fn frame(&mut self, head: &FrameHeader, payload: &[u8], progress: &mut Progress) -> Result<(), Fault> {
        self.header_block.allows(head)?;
        head.fits()?;
        if !self.settled && head.kind != frame::SETTINGS {
            return Err(Fault::Malformed("HTTP/2 does not begin with SETTINGS"));
        }
        match head.kind {
            frame::HEADERS => self.headers(head, payload, progress),
            frame::CONTINUATION => self.continuation(payload, head.has(frame::END_HEADERS), progress),
            frame::SETTINGS => self.settings(head, payload),
            frame::PING if head.stream == 0 => {
                if !head.has(frame::ACK) {
                    frame::write(self.outgoing.end(), frame::PING, frame::ACK, 0, payload);
                }
                Ok(())
            }
            frame::WINDOW_UPDATE => self.window(head, payload),
            frame::RST_STREAM if self.was_opened(head.stream) => {
                self.streams.close(head.stream);
                Ok(())
            }
            frame::GOAWAY if head.stream == 0 => {
                self.leaving = true;
                Ok(())
            }
            frame::PRIORITY_FRAME if head.stream != 0 => match frame::number(payload) {
                Some(on) if on & 0x7fff_ffff == head.stream => Err(Fault::Malformed("a stream that depends on itself")),
                _ => Ok(()),
            },
            frame::PING | frame::RST_STREAM | frame::GOAWAY | frame::PUSH_PROMISE | frame::PRIORITY_FRAME => {
                Err(Fault::Malformed("a frame of HTTP/2 that is wrong or not a client's to send"))
            }
            // Unknown frames are skipped (section 5.5).
            _ => Ok(()),
        }
    }

    fn settings(&mut self, head: &FrameHeader, payload: &[u8]) -> Result<(), Fault> {
        let Some(settings) = frame::settings(head, payload)? else { return Ok(()) };
        for (name, value) in settings {
            match name {
                frame::INITIAL_WINDOW_SIZE => {
                    let change = self.sending.set_initial(value)?;
                    self.streams.widen(change)?;
                }
                frame::ENABLE_PUSH if value > 1 => return Err(frame::WRONG_SETTINGS),
                frame::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => return Err(frame::WRONG_SETTINGS),
                _ => {}
            }
        }
        self.settled = true;
        frame::write(self.outgoing.end(), frame::SETTINGS, frame::ACK, 0, &[]);
        Ok(())
    }

    fn window(&mut self, head: &FrameHeader, payload: &[u8]) -> Result<(), Fault> {
        const WRONG: Fault = Fault::Malformed("a WINDOW_UPDATE of HTTP/2 is wrong");
        let by = frame::number(payload).ok_or(WRONG)? & 0x7fff_ffff;
        match head.stream {
            0 if by > 0 => self.sending.widen(by),
            number if !self.was_opened(number) => Err(WRONG),
            number => {
                let widened = self.streams.find(number).map(|stream| stream.widen(i64::from(by)));
                if by == 0 {
                    self.reset_stream(number, frame::PROTOCOL_ERROR);
                } else if widened.is_some_and(|widened| widened.is_err()) {
                    self.reset_stream(number, frame::FLOW_CONTROL_ERROR);
                }
                Ok(())
            }
        }
    }
}
