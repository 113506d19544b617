//! Frames of WebSocket (RFC 6455, section 5), read in pieces of any size. The payload of a data frame is passed to the
//! caller as it arrives. Control frames (ping, pong, close) are passed to the caller when they are complete.

use crate::Fault;

pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// Flag of the last frame of a message.
pub(super) const FIN: u8 = 0x80;
/// Flag in the second byte of a frame: the payload is masked.
const MASKED: u8 = 0x80;
/// Maximum payload of a control frame, bytes.
pub(super) const MAX_CONTROL: usize = 125;
/// Maximum size of a frame header, bytes: two bytes, eight bytes of length, and four bytes of mask.
const MAX_HEAD: usize = 14;

/// A frame header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) opcode: u8,
    pub(super) fin: bool,
    pub(super) length: u64,
    pub(super) mask: [u8; 4],
}

/// A parsed piece of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A part of a data frame, still masked. `from` is the offset of the part in the frame's payload, and `ends` is
    /// true if the frame ends with the part.
    Data { head: FrameHeader, from: u64, bytes: &'a [u8], ends: bool },
    /// A whole control frame, unmasked.
    Control { opcode: u8, payload: &'a [u8] },
}

/// Splitter of the input of one connection into frames.
#[derive(Debug)]
pub(super) struct Reader {
    /// True if the peer must mask its frames: true if the peer is a client, and false if it is a server.
    masked: bool,
    head: [u8; MAX_HEAD],
    have: usize,
    /// Header of the frame whose payload is being read, and the number of payload bytes read so far.
    current: Option<(FrameHeader, u64)>,
    /// True if a message has begun and its last frame has not arrived.
    inside: bool,
    control: [u8; MAX_CONTROL],
}

impl Reader {
    pub(super) const fn new(masked: bool) -> Self {
        Self { masked, head: [0; MAX_HEAD], have: 0, current: None, inside: false, control: [0; MAX_CONTROL] }
    }

    /// Returns the next piece, or `None` when the input is used up.
    pub(super) fn next<'s, 'i: 's>(&'s mut self, rest: &mut &'i [u8]) -> Result<Option<Piece<'s>>, Fault> {
        let (head, from) = match self.current {
            Some(current) => current,
            None => match self.begin(rest)? {
                Some(head) => (head, 0),
                None => return Ok(None),
            },
        };
        self.current = Some((head, from));
        let n = (head.length - from).min(rest.len() as u64) as usize;
        let (bytes, after) = rest.split_at(n);
        *rest = after;
        let to = from + n as u64;
        let ends = to == head.length;
        self.current = (!ends).then_some((head, to));
        if head.opcode < CLOSE {
            self.inside = !(ends && head.fin);
            let nothing = bytes.is_empty() && !ends;
            return Ok((!nothing).then_some(Piece::Data { head, from, bytes, ends }));
        }
        self.control[from as usize..to as usize].copy_from_slice(bytes);
        if !ends {
            return Ok(None);
        }
        let payload = &mut self.control[..head.length as usize];
        super::mask::apply(payload, head.mask, 0);
        Ok(Some(Piece::Control { opcode: head.opcode, payload }))
    }

    /// Returns true if a message or a frame has begun and is not complete.
    pub(super) const fn is_inside(&self) -> bool {
        self.inside || self.have > 0 || self.current.is_some()
    }

    /// Prepares the reader for a new connection.
    pub(super) fn reset(&mut self) {
        (self.have, self.current, self.inside) = (0, None, false);
    }

    /// Returns the next frame header; `None` until it is complete.
    fn begin(&mut self, rest: &mut &[u8]) -> Result<Option<FrameHeader>, Fault> {
        loop {
            let wanted = self.wanted();
            if self.have == wanted {
                self.have = 0;
                return self.whole_head(wanted).map(Some);
            }
            let n = (wanted - self.have).min(rest.len());
            if n == 0 {
                return Ok(None);
            }
            let (now, after) = rest.split_at(n);
            self.head[self.have..self.have + n].copy_from_slice(now);
            *rest = after;
            self.have += n;
        }
    }

    /// Returns the size of the frame header, according to the bytes that have arrived so far.
    fn wanted(&self) -> usize {
        if self.have < 2 {
            return 2;
        }
        let length = match self.head[1] & !MASKED {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        2 + length + if self.head[1] & MASKED == 0 { 0 } else { 4 }
    }

    fn whole_head(&self, wanted: usize) -> Result<FrameHeader, Fault> {
        let [first, second, ..] = self.head;
        let masked = second & MASKED != 0;
        let lengths = &self.head[2..wanted - if masked { 4 } else { 0 }];
        let length = match lengths.len() {
            0 => u64::from(second & !MASKED),
            _ => lengths.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        let mask = self.head[..wanted].last_chunk().copied().filter(|_| masked).unwrap_or_default();
        let head = FrameHeader { opcode: first & 0x0f, fin: first & FIN != 0, length, mask };
        let (control, least) = (head.opcode >= CLOSE, [0, 126, 1 << 16][lengths.len().div_ceil(4)]);
        let why = match head.opcode {
            _ if first & 0x70 != 0 => "a frame of WebSocket with bits of an extension that was not agreed on",
            3..=7 | 11.. => "a frame of WebSocket of no known kind",
            _ if masked != self.masked && masked => "a server must not mask its frames of WebSocket",
            _ if masked != self.masked => "a client must mask its frames of WebSocket",
            _ if length < least || length >> 63 != 0 => "a length of WebSocket is wrong",
            _ if control && (!head.fin || length > MAX_CONTROL as u64) => {
                "a ping, pong or close of WebSocket in parts, or of more than 125 bytes"
            }
            CONTINUATION if !self.inside => "a frame of WebSocket continues no message",
            TEXT | BINARY if self.inside => "a message of WebSocket begins within another",
            _ => return Ok(head),
        };
        Err(Fault::Malformed(why))
    }
}

/// Returns a frame header and its length. If `masked`, the header ends with four zero bytes. The caller replaces the
/// four zero bytes by the mask, or leaves them as a mask of zeros.
pub(super) fn head(opcode: u8, fin: bool, length: u64, masked: bool) -> ([u8; MAX_HEAD], usize) {
    let mut bytes = [0; MAX_HEAD];
    bytes[0] = opcode | if fin { FIN } else { 0 };
    let (short, behind) = match length {
        0..126 => (length as u8, 0),
        126..65_536 => (126, 2),
        _ => (127, 8),
    };
    bytes[1] = short | if masked { MASKED } else { 0 };
    bytes[2..2 + behind].copy_from_slice(&length.to_be_bytes()[8 - behind..]);
    (bytes, 2 + behind + if masked { 4 } else { 0 })
}

/// Appends a whole control frame, masked if a mask is given.
pub(super) fn write_control(to: &mut Vec<u8>, opcode: u8, payload: &[u8], mask: Option<[u8; 4]>) {
    let (bytes, length) = head(opcode, true, payload.len() as u64, mask.is_some());
    to.extend_from_slice(&bytes[..length - mask.map_or(0, |_| 4)]);
    to.extend_from_slice(mask.as_ref().map_or(&[], |mask| mask.as_slice()));
    let from = to.len();
    to.extend_from_slice(payload);
    super::mask::apply(&mut to[from..], mask.unwrap_or_default(), 0);
}

/// Returns true for a valid payload of a close frame (section 7.4): no bytes, or a valid code with UTF-8 text.
pub(super) fn close_is_right(payload: &[u8]) -> bool {
    let Some((code, reason)) = payload.split_first_chunk() else { return payload.is_empty() };
    let code = u16::from_be_bytes(*code);
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) && std::str::from_utf8(reason).is_ok()
}
