//! Reader of the server's messages after the login. The reader stores only the content of errors, and skips rows
//! without looking at them.

use crate::Fault;

/// Types of messages that a server may send after the login.
const KNOWN_TYPES: &[u8] = b"123ACDEGHIKNSTVWZcdnst";
/// Types of messages that the server may send at any time. Messages that may come at any time do not begin an answer.
const ANYTIME_TYPES: &[u8] = b"ANS";
/// Maximum length of a message, bytes (PostgreSQL's own limit).
const MAX_MESSAGE_BYTES: u32 = 0x3fff_ffff;
/// Maximum number of stored bytes of an error message.
const MAX_ERROR_BYTES: usize = 8 << 10;
/// Number of bytes of a message's type and length.
const HEADER_BYTES: usize = 5;

/// A message that needs an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The server reported an error. [`Reader::error`] returns the error's body.
    Error,
    /// The answer to a statement is complete.
    Ready,
    /// A notification (LISTEN and NOTIFY), which no statement asked for.
    Notification,
    /// The server waits for data of COPY FROM STDIN.
    WantsData,
}

/// Reader of one connection.
#[derive(Default)]
pub(super) struct Reader {
    header: [u8; HEADER_BYTES],
    /// Number of bytes of the header that have arrived.
    have: usize,
    /// Number of bytes of the current message that are still to come.
    left: usize,
    is_answering: bool,
    error: Vec<u8>,
}

impl Reader {
    /// Returns the next message that needs an action, and takes its bytes from `rest`. Returns `None` when all of
    /// `rest` was read.
    #[inline]
    pub(super) fn next(&mut self, rest: &mut &[u8]) -> Result<Option<Event>, Fault> {
        loop {
            if self.have < HEADER_BYTES && !self.read_header(rest)? {
                return Ok(None);
            }
            let (part, after) = rest.split_at(self.left.min(rest.len()));
            if self.header[0] == b'E' {
                self.error.extend(part.iter().take(MAX_ERROR_BYTES - self.error.len()));
            }
            self.left -= part.len();
            *rest = after;
            if self.left > 0 {
                return Ok(None);
            }
            self.have = 0;
            let event = match self.header[0] {
                b'Z' => Event::Ready,
                b'E' => Event::Error,
                b'A' => Event::Notification,
                b'G' | b'W' => Event::WantsData,
                _ => continue,
            };
            self.is_answering &= event != Event::Ready;
            return Ok(Some(event));
        }
    }

    /// Reads the header of a message. Returns false if the header is incomplete.
    #[inline]
    fn read_header(&mut self, rest: &mut &[u8]) -> Result<bool, Fault> {
        let n = (HEADER_BYTES - self.have).min(rest.len());
        let (part, after) = rest.split_at(n);
        self.header[self.have..self.have + n].copy_from_slice(part);
        (self.have, *rest) = (self.have + n, after);
        if self.have < HEADER_BYTES {
            return Ok(false);
        }
        let [kind, length @ ..] = self.header;
        let length = u32::from_be_bytes(length);
        if !KNOWN_TYPES.contains(&kind) || !(4..=MAX_MESSAGE_BYTES).contains(&length) {
            return Err(Fault::Malformed("a message of PostgreSQL has an unknown type or length"));
        }
        self.left = length as usize - 4;
        self.is_answering |= !ANYTIME_TYPES.contains(&kind);
        if kind == b'E' {
            self.error.clear();
        }
        Ok(true)
    }

    /// Returns the body of the last error.
    pub(super) fn error(&self) -> &[u8] {
        &self.error
    }

    /// Returns true if a part of an answer has arrived.
    pub(super) fn is_answering(&self) -> bool {
        self.is_answering || self.have > 0
    }

    /// Prepares the reader for another connection, without freeing the memory.
    pub(super) fn reset(&mut self) {
        (self.have, self.left, self.is_answering) = (0, 0, false);
        self.error.clear();
    }
}
