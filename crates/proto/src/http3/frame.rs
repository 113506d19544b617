//! Frames of HTTP/3 (RFC 9114, section 7), and their variable-length integers (RFC 9000, section 16).

use super::error_codes::{INCOMPLETE, UNEXPECTED, WRONG_SETTINGS};
use crate::Fault;

pub(super) const DATA: u64 = 0;
pub(super) const HEADERS: u64 = 1;
pub(super) const CANCEL_PUSH: u64 = 3;
pub(super) const SETTINGS: u64 = 4;
pub(super) const PUSH_PROMISE: u64 = 5;
pub(super) const GOAWAY: u64 = 7;
pub(super) const MAX_PUSH_ID: u64 = 0xd;

/// Kinds of streams in one direction (RFC 9114, section 6.2; RFC 9204, section 4.2).
pub(super) const CONTROL_STREAM: u64 = 0;
pub(super) const PUSH_STREAM: u64 = 1;
pub(super) const ENCODER_STREAM: u64 = 2;
pub(super) const DECODER_STREAM: u64 = 3;

/// Setting with the maximum size of decoded headers, bytes.
const MAX_FIELD_SECTION_SIZE: u64 = 6;
/// Maximum number of bytes of a variable-length integer.
const MAX_INTEGER_BYTES: usize = 8;

/// Appends a variable-length integer. QUIC has no integers of 2^62 or more, so the two highest bits of a larger value
/// are lost.
pub(super) fn write_integer(to: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => to.push(value as u8),
        0x40..0x4000 => to.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => to.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => to.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Appends the type and the length of a frame.
pub(super) fn write_head(to: &mut Vec<u8>, kind: u64, length: usize) {
    write_integer(to, kind);
    write_integer(to, length as u64);
}

/// Returns the beginning of a control stream: its kind and the settings. QPACK gets no dynamic table, which is the
/// default.
pub(super) fn control_stream() -> Vec<u8> {
    let (mut settings, mut stream) = (Vec::new(), Vec::new());
    write_integer(&mut settings, MAX_FIELD_SECTION_SIZE);
    write_integer(&mut settings, crate::http2::hpack::MAX_LIST_BYTES as u64);
    write_integer(&mut stream, CONTROL_STREAM);
    write_head(&mut stream, SETTINGS, settings.len());
    stream.extend_from_slice(&settings);
    stream
}

/// Reads an integer from the beginning of `bytes`. Returns `None` if the integer is incomplete.
pub(super) fn integer(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 << (*bytes.first()? >> 6);
    let (own, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let first = u64::from(own[0] & 0x3f);
    Some(own[1..].iter().fold(first, |value, byte| value << 8 | u64::from(*byte)))
}

/// Checks the content of a SETTINGS frame. The settings of HTTP/2 are forbidden, and no setting may occur twice
/// (section 7.2.4).
pub(super) fn check_settings(mut payload: &[u8]) -> Result<(), Fault> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let (Some(name), Some(_)) = (integer(&mut payload), integer(&mut payload)) else { return Err(INCOMPLETE) };
        if (2..=5).contains(&name) || seen.contains(&name) {
            return Err(WRONG_SETTINGS);
        }
        seen.push(name);
    }
    Ok(())
}

/// An integer that may arrive in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntegerReader {
    bytes: [u8; MAX_INTEGER_BYTES],
    count: usize,
}

impl IntegerReader {
    /// Takes bytes until the integer is complete. Returns `None` if more bytes are needed.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Option<u64> {
        while let Some((first, rest)) = input.split_first() {
            *input = rest;
            self.bytes[self.count] = *first;
            self.count += 1;
            if self.count == 1 << (self.bytes[0] >> 6) {
                let value = integer(&mut &self.bytes[..self.count]);
                self.count = 0;
                return value;
            }
        }
        None
    }

    const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A piece of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) kind: u64,
    /// Next bytes of the frame's content.
    pub(super) bytes: &'a [u8],
    /// True for the last piece of the frame.
    pub(super) ends: bool,
}

/// Splits the bytes of a stream into frames. Content is not stored, so a long frame takes no memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameReader {
    integer: IntegerReader,
    kind: Option<u64>,
    /// Number of bytes of the frame's content that have not arrived; `None` before the length is known.
    left: Option<u64>,
}

impl FrameReader {
    /// Returns the next piece of a frame; `None` if more input is needed. Refuses the frame types of HTTP/2 that HTTP/3
    /// reserves (section 7.2.8).
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Fault> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => match self.integer.read(input) {
                Some(2 | 6 | 8 | 9) => return Err(UNEXPECTED),
                Some(kind) => *self.kind.insert(kind),
                None => return Ok(None),
            },
        };
        let begins = self.left.is_none();
        let left = match self.left {
            Some(left) => left,
            None => match self.integer.read(input) {
                Some(left) => left,
                None => return Ok(None),
            },
        };
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        let (bytes, rest) = input.split_at(count);
        *input = rest;
        let ends = count as u64 == left;
        self.left = (!ends).then_some(left - count as u64);
        if ends {
            self.kind = None;
        }
        Ok((ends || begins || count > 0).then_some(Piece { kind, bytes, ends }))
    }

    /// Returns true if every frame that has begun is complete.
    pub(super) const fn is_between_frames(&self) -> bool {
        self.kind.is_none() && self.integer.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Examples of RFC 9000, appendix A.1.
    #[test]
    fn the_integers_of_the_standard_are_read_and_written() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            let mut written = Vec::new();
            write_integer(&mut written, value);
            assert_eq!(written, bytes);
            assert_eq!(integer(&mut &*bytes), Some(value));
            assert_eq!(integer(&mut &bytes[..bytes.len() - 1]), None);
        }
        // The standard also shows a longer encoding of the number 37.
        assert_eq!(integer(&mut &[0x40, 0x25][..]), Some(37));
    }

    #[test]
    fn our_control_stream_begins_with_valid_settings() {
        let stream = control_stream();
        assert_eq!(stream[..2], [0, SETTINGS as u8]);
        assert_eq!(usize::from(stream[2]), stream.len() - 3);
        check_settings(&stream[3..]).unwrap();
    }

    #[test]
    fn forbidden_doubled_and_incomplete_settings_are_refused() {
        assert_eq!(check_settings(&[4, 0]), Err(WRONG_SETTINGS));
        assert_eq!(check_settings(&[1, 0, 1, 0]), Err(WRONG_SETTINGS));
        assert_eq!(check_settings(&[1]), Err(INCOMPLETE));
        assert_eq!(check_settings(&[1, 0, 7, 0, 0x21, 5]), Ok(()));
    }

    #[test]
    fn frame_types_of_http_2_are_refused() {
        for kind in [2, 6, 8, 9] {
            assert_eq!(FrameReader::default().next(&mut &[kind, 0][..]), Err(UNEXPECTED));
        }
    }

    proptest! {
        #[test]
        fn frames_are_the_same_in_pieces_of_any_size(
            frames in proptest::collection::vec((prop::sample::select(vec![0_u64, 1, 7, 0x21, 70_000]), 0_usize..200), 1..6),
            sizes in proptest::collection::vec(1_usize..50, 1..20),
        ) {
            let mut bytes = Vec::new();
            for (kind, length) in &frames {
                write_head(&mut bytes, *kind, *length);
                bytes.resize(bytes.len() + length, *kind as u8);
            }
            let (mut reader, mut rest, mut sizes) = (FrameReader::default(), &bytes[..], sizes.iter().cycle());
            let (mut found, mut length) = (Vec::new(), 0);
            while !rest.is_empty() {
                let (mut piece, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
                rest = after;
                while let Some(part) = reader.next(&mut piece).unwrap() {
                    length += part.bytes.len();
                    if part.ends {
                        found.push((part.kind, std::mem::take(&mut length)));
                    }
                }
            }
            prop_assert_eq!(found, frames);
            prop_assert!(reader.is_between_frames());
        }
    }
}
