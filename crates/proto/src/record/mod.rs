//! Record: reads and writes of fixed-size records of one file over TCP, in the message sizes of sources 0 and 3.
//!
//! A request has 60 bytes; a reply has 60 bytes and the record. A read of 2048 bytes thus takes 60 and 2108 bytes, as
//! in the source. A client splits a record longer than [`SPLIT_BYTES`] into requests of that size, one after the other.
//! From [`LARGE_BYTES`] on it requests the whole record in one large read, as long as the server has a buffer for it. A
//! request that cannot be served is answered by a status, never by silence.
//!
//! The header, big endian: magic 4, version 1, operation 1, status 1, flags 1, offset 8, length 4, file length 8, and
//! 32 bytes of zero. The length is the number of bytes after the header, except in a request to read.

mod client;
mod server;
mod spec;

pub use client::{ClientPlan, ClientSession};
pub use server::{LargeBuffer, Origin, Records, ServerSession};
pub(crate) use spec::{SPEC, client};

/// Size of every header, request or reply.
pub const HEAD_BYTES: usize = 60;
/// Maximum read without a large buffer; longer reads are split into this size.
pub const SPLIT_BYTES: u32 = 4096;
/// Minimum size of a large read: three pages.
pub const LARGE_BYTES: u32 = 3 * 4096;
/// Maximum size of a record.
pub const MAX_BYTES: u32 = 1 << 20;

const MAGIC: [u8; 4] = *b"LLRC";
const VERSION: u8 = 1;
/// Bit of the operation that marks a reply.
const REPLY: u8 = 0x80;
/// The record came from the page cache.
const FLAG_CACHED: u8 = 1;
/// The record came from the disk.
const FLAG_DISK: u8 = 2;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read bytes of the file.
    Read,
    /// Write bytes to the file.
    Write,
    /// Return the length of the file.
    Length,
}

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The operation succeeded.
    Done,
    /// The file ends within the record.
    Short,
    /// The record begins at or beyond the end of the file.
    PastEnd,
    /// The file no longer exists.
    Vanished,
    /// No buffer for a large read: retry in pieces of [`SPLIT_BYTES`].
    NoBuffer,
    /// The header is invalid.
    Malformed,
    /// The disk failed.
    Failed,
    /// Longer than [`MAX_BYTES`].
    TooLong,
    /// The file is read-only.
    ReadOnly,
}

impl Status {
    const ALL: [Self; 9] = [
        Self::Done,
        Self::Short,
        Self::PastEnd,
        Self::Vanished,
        Self::NoBuffer,
        Self::Malformed,
        Self::Failed,
        Self::TooLong,
        Self::ReadOnly,
    ];

    /// Returns the status in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Short => "the file ends within the record",
            Self::PastEnd => "the record lies beyond the end of the file",
            Self::Vanished => "the server's file is gone",
            Self::NoBuffer => "the server has no buffer for a large read",
            Self::Malformed => "the server does not understand the request",
            Self::Failed => "the server's disk failed",
            Self::TooLong => "the record is longer than the server allows",
            Self::ReadOnly => "the server's file may not be written",
        }
    }
}

/// A header of a request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Requested or answered operation.
    pub operation: Operation,
    /// `None` in a request.
    pub status: Option<Status>,
    /// Two flags of a reply: true if the record came from the page cache, and true if from the disk.
    pub origin: (bool, bool),
    /// File offset of the record.
    pub offset: u64,
    /// Number of requested bytes, or of bytes that follow.
    pub length: u32,
    /// Reply: length of the file.
    pub file_bytes: u64,
}

impl Head {
    /// Creates a request.
    pub const fn request(operation: Operation, offset: u64, length: u32) -> Self {
        Self { operation, status: None, origin: (false, false), offset, length, file_bytes: 0 }
    }

    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = self.operation as u8 | if self.status.is_some() { REPLY } else { 0 };
        bytes[6] = self.status.map_or(0, |s| s as u8);
        bytes[7] = if self.origin.0 { FLAG_CACHED } else { 0 } | if self.origin.1 { FLAG_DISK } else { 0 };
        bytes[8..16].copy_from_slice(&self.offset.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_be_bytes());
        bytes[20..28].copy_from_slice(&self.file_bytes.to_be_bytes());
        bytes
    }

    /// Decodes a header; `None` for invalid bytes.
    pub fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let number = |from: usize, to: usize| bytes[from..to].iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        let known = bytes[..4] == MAGIC && bytes[4] == VERSION && bytes[28..].iter().all(|b| *b == 0);
        let operation = match bytes[5] & !REPLY {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Length,
            _ => return None,
        };
        let status = match (bytes[5] & REPLY, bytes[6]) {
            (0, 0) => None,
            (0, _) => return None,
            (_, code) => Some(*Status::ALL.get(usize::from(code))?),
        };
        let origin = (bytes[7] & FLAG_CACHED != 0, bytes[7] & FLAG_DISK != 0);
        let head = Self {
            operation,
            status,
            origin,
            offset: number(8, 16),
            length: number(16, 20) as u32,
            file_bytes: number(20, 28),
        };
        (known && bytes[7] <= 3).then_some(head)
    }
}

/// Collects the bytes of a header from pieces of any size.
#[derive(Clone, Debug)]
struct HeadBuffer {
    bytes: [u8; HEAD_BYTES],
    filled: usize,
}

impl HeadBuffer {
    const fn new() -> Self {
        Self { bytes: [0; HEAD_BYTES], filled: 0 }
    }

    /// Takes missing bytes and returns the header's bytes when complete.
    fn take(&mut self, input: &mut &[u8]) -> Option<[u8; HEAD_BYTES]> {
        let n = input.len().min(HEAD_BYTES - self.filled);
        self.bytes[self.filled..self.filled + n].copy_from_slice(&input[..n]);
        *input = &input[n..];
        self.filled += n;
        (self.filled == HEAD_BYTES).then(|| {
            self.filled = 0;
            self.bytes
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_survive_the_wire() {
        for status in Status::ALL.into_iter().map(Some).chain([None]) {
            for operation in [Operation::Read, Operation::Write, Operation::Length] {
                let head = Head { status, offset: 1 << 40, ..Head::request(operation, 0, 4096) };
                assert_eq!(Head::decode(&head.encode()), Some(head));
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_head_that_encodes_to_them_or_none(bytes in prop::array::uniform32(any::<u8>()), fix in any::<bool>()) {
            let mut raw = [0; HEAD_BYTES];
            raw[..28].copy_from_slice(&bytes[..28]);
            if fix {
                raw[..5].copy_from_slice(b"LLRC\x01");
                raw[5] &= 0x83;
                raw[7] &= 3;
            }
            if let Some(head) = Head::decode(&raw) {
                prop_assert_eq!(head.encode(), raw);
            }
        }
    }
}
