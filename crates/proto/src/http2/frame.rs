//! Frames of HTTP/2 (RFC 9113, sections 4.1 and 6).

use crate::Fault;

/// Size of a frame header in bytes.
pub(super) const HEADER_BYTES: usize = 9;
/// Maximum payload of a frame, bytes: the default SETTINGS_MAX_FRAME_SIZE of client and server.
pub(super) const MAX_PAYLOAD: usize = 16_384;
/// First bytes that a client sends.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY_FRAME: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

// Numbers of the HTTP/2 settings that this crate uses.
pub(super) const HEADER_TABLE_SIZE: u16 = 1;
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;
pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;

// Numbers of the HTTP/2 error codes that this crate uses.
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const FLOW_CONTROL_ERROR: u32 = 3;
pub(super) const STREAM_CLOSED: u32 = 5;
pub(super) const FRAME_SIZE_ERROR: u32 = 6;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;
pub(super) const COMPRESSION_ERROR: u32 = 9;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

/// Fault for a frame that is longer than allowed.
pub(super) const TOO_LONG: Fault = Fault::Malformed("a frame of HTTP/2 that is longer than 16 KiB, or no HTTP/2");
/// Faults for frames whose length is wrong for their kind, by kind.
const LENGTHS: [(u8, Fault); 6] = [
    (PRIORITY_FRAME, Fault::Malformed("a PRIORITY of HTTP/2 of another length than 5")),
    (RST_STREAM, Fault::Malformed("a RST_STREAM of HTTP/2 of another length than 4")),
    (SETTINGS, Fault::Malformed("SETTINGS of HTTP/2 of a length that is no multiple of 6, or an ACK of them with any")),
    (PING, Fault::Malformed("a PING of HTTP/2 of another length than 8")),
    (GOAWAY, Fault::Malformed("a GOAWAY of HTTP/2 of less than 8 bytes")),
    (WINDOW_UPDATE, Fault::Malformed("a WINDOW_UPDATE of HTTP/2 of another length than 4")),
];

/// Maximum size of a window (section 6.9.1).
pub(super) const MAX_WINDOW: i64 = (1 << 31) - 1;

/// Header of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }

    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Checks the length of a frame against the rule for its kind (section 6).
    pub(super) fn fits(&self) -> Result<(), Fault> {
        let fits = match self.kind {
            PRIORITY_FRAME => self.length == 5,
            RST_STREAM | WINDOW_UPDATE => self.length == 4,
            SETTINGS => self.length.is_multiple_of(6) && (self.length == 0 || !self.has(ACK)),
            PING => self.length == 8,
            GOAWAY => self.length >= 8,
            _ => true,
        };
        let fault = LENGTHS.iter().find(|(kind, _)| !fits && *kind == self.kind);
        fault.map_or(Ok(()), |(_, fault)| Err(*fault))
    }
}

/// Returns true if the fault is that a frame has a wrong length.
pub(super) fn is_of_lengths(fault: &Fault) -> bool {
    *fault == TOO_LONG || LENGTHS.iter().any(|(_, of)| of == fault)
}

/// Appends a frame header.
pub(super) fn write_head(to: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    to.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
}

/// Appends a complete HTTP/2 frame.
pub(super) fn write(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    write_head(to, payload.len(), kind, flags, stream);
    to.extend_from_slice(payload);
}

/// Appends a SETTINGS frame.
pub(super) fn write_settings(to: &mut Vec<u8>, settings: &[(u16, u32)]) {
    write_head(to, settings.len() * 6, SETTINGS, 0, 0);
    for (name, value) in settings {
        to.extend_from_slice(&name.to_be_bytes());
        to.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a header block for a stream, in as many frames as needed.
pub(super) fn write_block(to: &mut Vec<u8>, stream: u32, flags: u8, block: &[u8]) {
    let mut pieces = block.chunks(MAX_PAYLOAD).peekable();
    let mut kind = (HEADERS, flags);
    while let Some(piece) = pieces.next() {
        let last = if pieces.peek().is_none() { END_HEADERS } else { 0 };
        write(to, kind.0, kind.1 | last, stream, piece);
        kind = (CONTINUATION, 0);
    }
}

/// Returns the range of a payload's content, without the padding and its length (section 6.1). Returns `None` if the
/// padding is too long.
pub(super) fn unpadded(head: &FrameHeader, payload: &[u8]) -> Option<std::ops::Range<usize>> {
    if !head.has(PADDED) {
        return Some(0..payload.len());
    }
    let padding = usize::from(*payload.first()?);
    let end = payload.len().checked_sub(padding).filter(|end| *end >= 1)?;
    Some(1..end)
}

/// Fault for settings that are not allowed.
pub(super) const WRONG_SETTINGS: Fault = Fault::Malformed("SETTINGS of HTTP/2 are wrong");

/// Returns the settings in a frame, as pairs of number and value. Returns `None` for an acknowledgement.
pub(super) fn settings<'a>(
    head: &FrameHeader,
    payload: &'a [u8],
) -> Result<Option<impl Iterator<Item = (u16, u32)> + use<'a>>, Fault> {
    if head.stream != 0 {
        return Err(WRONG_SETTINGS);
    }
    let parse = |s: &[u8]| (u16::from_be_bytes([s[0], s[1]]), u32::from_be_bytes([s[2], s[3], s[4], s[5]]));
    Ok((!head.has(ACK)).then(|| payload.chunks_exact(6).map(parse)))
}

/// Reads a 32-bit number from the first four bytes; `None` if there are fewer.
pub(super) fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|b| u32::from_be_bytes(*b))
}
