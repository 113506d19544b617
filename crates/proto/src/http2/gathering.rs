//! A header block over its frames (RFC 9113, section 4.3): HEADERS, then CONTINUATION until one says END_HEADERS.

use super::frame::{self, Head};
use crate::Fault;

/// Longest header block, over all its frames, bytes.
const MOST: usize = 64 * 1024;
/// What a frame counts for at least: a small one costs its sender next to nothing.
const LEAST: usize = 256;

/// The block that is read now, if it goes on in a further frame; its memory is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// The frame that it began with.
    began: Option<Head>,
    bytes: Vec<u8>,
    counted: usize,
}

impl Gathering {
    /// Nothing is read.
    pub(super) fn reset(&mut self) {
        self.began = None;
    }

    /// Whether a block has begun and not ended.
    pub(super) const fn is_open(&self) -> bool {
        self.began.is_some()
    }

    /// Whether this frame may come now: nothing stands between the frames of a block.
    pub(super) fn allows(&self, head: &Head) -> Result<(), Fault> {
        let goes_on = |began: Head| head.kind == frame::CONTINUATION && head.stream == began.stream;
        match self.began {
            Some(began) if !goes_on(began) => Err(Fault::Malformed("a header block of HTTP/2 is interrupted")),
            _ => Ok(()),
        }
    }

    /// A block begins that goes on in further frames.
    pub(super) fn begin(&mut self, head: &Head, piece: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(piece);
        (self.began, self.counted) = (Some(*head), piece.len().max(LEAST));
    }

    /// CONTINUATION: with the last one the frame that the block began with, and all of it, to be given
    /// [`back`](Self::give_back).
    pub(super) fn go_on(&mut self, piece: &[u8], last: bool) -> Result<Option<(Head, Vec<u8>)>, Fault> {
        let began = self.began.ok_or(Fault::Malformed("CONTINUATION without HEADERS"))?;
        self.counted += piece.len().max(LEAST);
        if self.counted > MOST {
            return Err(Fault::Limit("a header block of HTTP/2 of more than 64 KiB, or in very small frames"));
        }
        if piece.is_empty() && !last {
            return Err(Fault::Limit("empty frames of a header block"));
        }
        self.bytes.extend_from_slice(piece);
        if !last {
            return Ok(None);
        }
        self.began = None;
        Ok(Some((began, std::mem::take(&mut self.bytes))))
    }

    /// The memory of a block that was read.
    pub(super) fn give_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}
