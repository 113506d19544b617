//! Splits input, which arrives in pieces of any size, into frames. The payload of a DATA frame is passed to the caller
//! at once. All other frames are passed to the caller when they are complete.

use super::frame::{DATA, FrameHeader, HEADER_BYTES, MAX_PAYLOAD, PADDED, TOO_LONG};
use crate::Fault;

/// Fault for an answer in HTTP/1.1.
pub(super) const IN_HTTP1: Fault =
    Fault::Malformed("it answers in HTTP/1.1; HTTP/2 is not spoken there without TLS (write http:// without --http2)");
/// Fault for an answer in HTTP/1.1 to a gRPC call.
pub(super) const GRPC_IN_HTTP1: Fault =
    Fault::Malformed("it answers in HTTP/1.1, and gRPC needs HTTP/2: give the port of the gRPC server");

/// A part of the input that is passed to the session.
pub(super) enum Piece<'a> {
    /// A part of a DATA frame. `body` is the content of the part, without padding. `length` is the number of bytes that
    /// count for the flow-control window. `ends` is true for the last part of a frame.
    Data { head: FrameHeader, body: &'a [u8], length: usize, ends: bool },
    /// A complete frame.
    Frame { head: FrameHeader, payload: &'a [u8] },
}

/// Splitter of the input of one connection into frames.
#[derive(Debug, Default)]
pub(super) struct Input {
    head: [u8; HEADER_BYTES],
    have: usize,
    /// Header of the frame whose payload is being read, and the number of payload bytes that are still to come.
    current: Option<(FrameHeader, usize)>,
    /// Number of padding bytes at the end of the DATA frame; `None` before the byte with the padding length has
    /// arrived.
    padding: Option<usize>,
    payload: Vec<u8>,
    /// True if `payload` was passed to the session, and must therefore be cleared before the next frame.
    spent: bool,
}

impl Input {
    /// Returns the next part of the input; `None` when all input is used.
    pub(super) fn next<'s, 'i: 's>(&'s mut self, rest: &mut &'i [u8]) -> Result<Option<Piece<'s>>, Fault> {
        if self.spent {
            self.payload.clear();
            self.spent = false;
        }
        let (head, left) = match self.current {
            Some(current) => current,
            None => match self.begin(rest)? {
                Some(head) => (head, head.length),
                None => return Ok(None),
            },
        };
        self.current = Some((head, left));
        if head.kind == DATA {
            return self.data(head, left, rest);
        }
        let n = left.min(rest.len());
        let (now, after) = rest.split_at(n);
        *rest = after;
        if n < left {
            self.payload.extend_from_slice(now);
            self.current = Some((head, left - n));
            return Ok(None);
        }
        self.current = None;
        if self.payload.is_empty() {
            return Ok(Some(Piece::Frame { head, payload: now }));
        }
        self.payload.extend_from_slice(now);
        self.spent = true;
        Ok(Some(Piece::Frame { head, payload: &self.payload }))
    }

    /// Returns the next frame header; `None` until it is complete.
    fn begin(&mut self, rest: &mut &[u8]) -> Result<Option<FrameHeader>, Fault> {
        let n = (HEADER_BYTES - self.have).min(rest.len());
        let (now, after) = rest.split_at(n);
        self.head[self.have..self.have + n].copy_from_slice(now);
        *rest = after;
        self.have += n;
        if self.have < HEADER_BYTES {
            return Ok(None);
        }
        self.have = 0;
        let head = FrameHeader::read(&self.head);
        match head.length {
            _ if self.head.starts_with(b"HTTP/1.") => Err(IN_HTTP1),
            0..=MAX_PAYLOAD => {
                self.padding = (!head.has(PADDED)).then_some(0);
                Ok(Some(head))
            }
            _ => Err(TOO_LONG),
        }
    }

    fn data<'i>(&mut self, head: FrameHeader, left: usize, rest: &mut &'i [u8]) -> Result<Option<Piece<'i>>, Fault> {
        if rest.is_empty() && left > 0 {
            return Ok(None);
        }
        let n = left.min(rest.len());
        let (now, after) = rest.split_at(n);
        *rest = after;
        let mut body = now;
        let padding = match self.padding {
            Some(padding) => padding,
            None => {
                const WRONG: Fault = Fault::Malformed("DATA of HTTP/2 is padded with more than it has");
                let padding = usize::from(*now.first().ok_or(WRONG)?);
                if padding >= head.length {
                    return Err(WRONG);
                }
                body = &body[1..];
                self.padding = Some(padding);
                padding
            }
        };
        let after = left - n;
        // Removes the padding at the end of the frame, if this part of the input contains some of it.
        body = &body[..body.len() - padding.saturating_sub(after).min(body.len())];
        let ends = after == 0;
        self.current = (!ends).then_some((head, after));
        Ok(Some(Piece::Data { head, body, length: n, ends }))
    }
}
