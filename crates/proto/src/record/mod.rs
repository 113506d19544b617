//! Record: reading and writing of fixed-size records of a file over TCP. The message sizes are taken from the
//! measurements in R. Blake, *Optimizing Windows NT*, 1993.
//!
//! A request to read has 60 bytes; its reply has 60 bytes followed by the record. To read 2048 bytes, the client sends
//! 60 bytes and the server sends 2108 bytes, as in Blake's measurements. If a record is longer than [`SPLIT_BYTES`],
//! the client splits the read into requests of [`SPLIT_BYTES`]. The client sends the requests for one record one after
//! the other. For a record of at least [`LARGE_BYTES`], the client first requests the whole record in one large read.
//! If the server has no buffer for a large read, the client splits this read into requests of [`SPLIT_BYTES`] instead.
//! If the server cannot serve a request, it always answers with a status.
//!
//! Fields of the header with their sizes in bytes, big endian: magic 4, version 1, operation 1, status 1, flags 1,
//! offset 8, length 4, file length 8, and 32 bytes of zero. The field `length` is the number of bytes that follow the
//! header. In a request to read, the field `length` is the number of bytes to read.

mod client;
mod server;
mod spec;

pub use client::{ClientPlan, ClientSession};
pub use server::{LargeBuffer, Origin, Records, ServerSession};
pub(crate) use spec::{SPEC, client};

/// Size of the header of each request and reply, bytes.
pub const HEAD_BYTES: usize = 60;
/// Maximum size of a read without a large buffer, bytes. Without a large buffer, longer reads are split into reads of
/// [`SPLIT_BYTES`].
pub const SPLIT_BYTES: u32 = 4096;
/// Minimum size of a large read, bytes: three pages.
pub const LARGE_BYTES: u32 = 3 * 4096;
/// Maximum size of a record, bytes.
pub const MAX_BYTES: u32 = 1 << 20;

const MAGIC: [u8; 4] = *b"LLRC";
const VERSION: u8 = 1;
/// Bit that is set in the operation byte of a reply.
const REPLY: u8 = 0x80;
/// Flag of a record that came from the page cache.
const FLAG_CACHED: u8 = 1;
/// Flag of a record that came from the disk.
const FLAG_DISK: u8 = 2;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads bytes of the file.
    Read,
    /// Writes bytes to the file.
    Write,
    /// Returns the length of the file.
    Length,
}

/// Status that tells the result of a request.
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
    /// The server has no free buffer for a large read. After this status, the client requests the record again, in
    /// parts of [`SPLIT_BYTES`].
    NoBuffer,
    /// The header is invalid.
    Malformed,
    /// The disk failed.
    Failed,
    /// The record is longer than [`MAX_BYTES`].
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

/// Header of a request or of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Operation that was requested.
    pub operation: Operation,
    /// Result of the operation; `None` in a request.
    pub status: Option<Status>,
    /// Origin of the record in a reply: the first flag stands for the page cache, and the second for the disk. Both
    /// flags are true if one part of the record came from the page cache and another part from the disk.
    pub origin: (bool, bool),
    /// Position of the record in the file.
    pub offset: u64,
    /// In a request to read, the number of bytes to read; otherwise, the number of bytes that follow the header.
    pub length: u32,
    /// Length of the file, bytes; 0 in a request.
    pub file_bytes: u64,
}

impl Head {
    /// Creates the header of a request.
    pub const fn request(operation: Operation, offset: u64, length: u32) -> Self {
        Self { operation, status: None, origin: (false, false), offset, length, file_bytes: 0 }
    }

    /// Encodes the header of a message.
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

    /// Decodes a header; returns `None` for invalid bytes.
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

/// Collects the bytes of a header, which arrives in pieces of any size.
#[derive(Clone, Debug)]
struct HeadBuffer {
    bytes: [u8; HEAD_BYTES],
    filled: usize,
}

impl HeadBuffer {
    const fn new() -> Self {
        Self { bytes: [0; HEAD_BYTES], filled: 0 }
    }

    /// Takes the missing bytes of the header from `input`. Returns the whole header when it is complete.
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
