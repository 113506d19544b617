//! A header block in several frames (RFC 9113, section 4.3): first HEADERS, then CONTINUATION until END_HEADERS.

use super::frame::{self, FrameHeader};
use crate::Fault;

/// Maximum size of a header block, over all its frames, bytes. Equals the limit of the heads of HTTP/1.1. The client
/// announces the limit as the maximum size of decoded headers. A normal encoder never makes a header block larger than
/// its decoded headers.
pub(super) const MAX_BLOCK_BYTES: usize = crate::http1::HEAD_LIMIT;
/// Minimum number of bytes that each frame of a header block counts towards [`MAX_BLOCK_BYTES`]. This minimum also
/// limits the number of very small frames in a block.
const MIN_FRAME_COST: usize = 256;

/// The incomplete header block, if there is one. The buffer is used again for later header blocks.
#[derive(Debug, Default)]
pub(super) struct HeaderBlock {
    /// The first frame of the current header block.
    began: Option<FrameHeader>,
    bytes: Vec<u8>,
    counted: usize,
}

impl HeaderBlock {
    /// Drops the current header block.
    pub(super) fn reset(&mut self) {
        self.began = None;
    }

    /// Returns true if a header block is incomplete.
    pub(super) const fn is_open(&self) -> bool {
        self.began.is_some()
    }

    /// Checks that a frame is allowed at the current point of the connection's input. After an incomplete header block,
    /// only CONTINUATION on its stream may follow.
    pub(super) fn allows(&self, head: &FrameHeader) -> Result<(), Fault> {
        let goes_on = |began: FrameHeader| head.kind == frame::CONTINUATION && head.stream == began.stream;
        match self.began {
            Some(began) if !goes_on(began) => Err(Fault::Malformed("a header block of HTTP/2 is interrupted")),
            _ => Ok(()),
        }
    }

    /// Starts a header block that continues in the next frames.
    pub(super) fn begin(&mut self, head: &FrameHeader, piece: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(piece);
        (self.began, self.counted) = (Some(*head), piece.len().max(MIN_FRAME_COST));
    }

    /// Handles a CONTINUATION frame. If the frame is the last frame of a header block, returns the block's first frame
    /// and all bytes of the block. After use of the bytes, the caller returns their memory with
    /// [`give_back`](Self::give_back).
    pub(super) fn append_frame(&mut self, piece: &[u8], last: bool) -> Result<Option<(FrameHeader, Vec<u8>)>, Fault> {
        let began = self.began.ok_or(Fault::Malformed("CONTINUATION without HEADERS"))?;
        self.counted += piece.len().max(MIN_FRAME_COST);
        if self.counted > MAX_BLOCK_BYTES {
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

    /// Takes back the memory of a header block after its use.
    pub(super) fn give_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}
