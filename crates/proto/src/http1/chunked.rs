//! Chunked transfer coding (RFC 9112, section 7.1). The sizes of chunks are checked; data and trailers are skipped.
//!
//! Parsing is strict: every line must end with CR LF, and extensions and trailers may not contain control characters.
//! If two readers disagreed about the end of a line, a request could be hidden from one of the two (request smuggling).

use super::HEAD_LIMIT;
use crate::Fault;
use run::is_token_byte;

/// Kind of byte that comes next in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// A digit of the chunk size, or the byte after the size. The number counts the digits that have arrived.
    Size(u8),
    /// The byte after white space that follows the size.
    SizeEnd,
    Extension,
    /// The line feed after the size, whose carriage return has arrived.
    SizeLf,
    Data,
    /// The carriage return after the data of a chunk.
    DataCr,
    DataLf,
    /// The first byte of a trailer line.
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    /// The line feed of the last line, whose carriage return has arrived.
    LastLf,
    Done,
}

/// Reader of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunked {
    at: Position,
    left: u64,
    /// Number of bytes of body data so far, without chunk sizes, extensions and trailers.
    data: u64,
    /// Number of bytes of extensions and trailers so far.
    extra: u32,
    /// True if spaces between a size and the end of its line are allowed. Only the final recipient may accept spaces
    /// between a size and the end of its line.
    is_lenient: bool,
}

const EXTENSION: Fault = Fault::Malformed("a chunk extension");
const TRAILER: Fault = Fault::Malformed("a trailer line");
const NO_SIZE: Fault = Fault::Malformed("a chunk size is not a hexadecimal number");
const TOO_LARGE: Fault = Fault::Malformed("a chunk size is too large");

impl Chunked {
    /// Creates a strict reader for a body.
    pub const fn new() -> Self {
        Self { at: Position::Size(0), left: 0, data: 0, extra: 0, is_lenient: false }
    }

    /// Creates a reader for a client. The reader accepts the spaces that old servers write after a size, because a
    /// client forwards nothing.
    pub const fn lenient() -> Self {
        Self { is_lenient: true, ..Self::new() }
    }

    /// Returns true if the body is complete.
    pub fn done(&self) -> bool {
        self.at == Position::Done
    }

    /// Returns the number of bytes of body data so far, without chunk sizes, extensions and trailers.
    pub const fn data_bytes(&self) -> u64 {
        self.data
    }

    /// Skips bytes of the body. Returns the number of bytes that belonged to the body, and true if the body has ended.
    pub fn skip(&mut self, input: &[u8]) -> Result<(usize, bool), Fault> {
        self.read(input, |_, _| ())
    }

    /// Reads bytes of the body like [`Chunked::skip`], and calls `each` with the pieces of data. The second argument of
    /// `each` is true for the last piece of a chunk.
    pub fn read(&mut self, input: &[u8], mut each: impl FnMut(&[u8], bool)) -> Result<(usize, bool), Fault> {
        let mut used = 0;
        while let Some(&byte) = input.get(used).filter(|_| !self.done()) {
            if self.at == Position::Data {
                let n = self.left.min((input.len() - used) as u64);
                self.left -= n;
                self.data += n;
                each(&input[used..used + n as usize], self.left == 0);
                used += n as usize;
                if self.left == 0 {
                    self.at = Position::DataCr;
                }
                continue;
            }
            used += 1;
            self.at = self.step(byte)?;
        }
        Ok((used, self.done()))
    }

    /// Returns the state of the reader after a byte that is not part of the data.
    fn step(&mut self, byte: u8) -> Result<Position, Fault> {
        match (self.at, byte) {
            (Position::Size(digits), _) => self.size(digits, byte),
            (Position::SizeEnd, b' ' | b'\t') => self.count(Position::SizeEnd),
            (Position::SizeEnd, b'\r') if self.is_lenient => Ok(Position::SizeLf),
            (Position::SizeEnd, b';') => self.count(Position::Extension),
            (Position::Extension, b'\r') => Ok(Position::SizeLf),
            (Position::Extension, _) if is_text(byte) => self.count(Position::Extension),
            (Position::SizeLf, b'\n') if self.left == 0 => Ok(Position::TrailerStart),
            (Position::SizeLf, b'\n') => Ok(Position::Data),
            (Position::SizeEnd | Position::Extension | Position::SizeLf, _) => Err(EXTENSION),
            (Position::DataCr, b'\r') => Ok(Position::DataLf),
            (Position::DataLf, b'\n') => Ok(Position::Size(0)),
            (Position::DataCr | Position::DataLf, _) => Err(Fault::Malformed("a chunk is longer than its size")),
            (Position::TrailerStart, b'\r') => Ok(Position::LastLf),
            (Position::LastLf, b'\n') => Ok(Position::Done),
            (Position::TrailerName, b':') => self.count(Position::TrailerValue),
            (Position::TrailerStart | Position::TrailerName, _) if is_token_byte(byte) => {
                self.count(Position::TrailerName)
            }
            (Position::TrailerValue, b'\r') => Ok(Position::TrailerLf),
            (Position::TrailerValue, _) if is_text(byte) => self.count(Position::TrailerValue),
            (Position::TrailerLf, b'\n') => Ok(Position::TrailerStart),
            (
                Position::TrailerStart
                | Position::TrailerName
                | Position::TrailerValue
                | Position::TrailerLf
                | Position::LastLf,
                _,
            ) => Err(TRAILER),
            (Position::Data | Position::Done, _) => Ok(self.at),
        }
    }

    fn size(&mut self, digits: u8, byte: u8) -> Result<Position, Fault> {
        match ((byte as char).to_digit(16), byte) {
            (Some(digit), _) => {
                self.left = if digits == 0 { 0 } else { self.left << 4 } | u64::from(digit);
                // A size whose last bit is used would be 8 EiB or more. Such a size is a negative number in the server.
                if digits < 16 && self.left >> 63 == 0 { Ok(Position::Size(digits + 1)) } else { Err(TOO_LARGE) }
            }
            (None, _) if digits == 0 => Err(NO_SIZE),
            (None, b'\r') => Ok(Position::SizeLf),
            (None, b';') => self.count(Position::Extension),
            (None, b' ' | b'\t') => self.count(Position::SizeEnd),
            (None, _) => Err(NO_SIZE),
        }
    }

    fn count(&mut self, at: Position) -> Result<Position, Fault> {
        self.extra += 1;
        if self.extra as usize > HEAD_LIMIT {
            return Err(Fault::Limit("chunk extensions and trailers exceed 64 KiB"));
        }
        Ok(at)
    }
}

impl Default for Chunked {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns true for a byte that may be in the text of a field. These are the tab, and all bytes that are not control
/// characters (RFC 9110, section 5.5).
const fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"5\r\nhello\r\n1A;name=\"v\"\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: x\r\n\r\nNEXT";

    #[test]
    fn reads_over_any_split() {
        for cut in 0..BODY.len() - 4 {
            let mut c = Chunked::new();
            assert_eq!(c.skip(&BODY[..cut]).unwrap(), (cut, false));
            assert_eq!(c.skip(&BODY[cut..]).unwrap(), (BODY.len() - 4 - cut, true));
            assert_eq!(c.data_bytes(), 31, "cut at {cut}");
        }
    }

    #[test]
    fn a_client_reads_blanks_behind_a_size() {
        let body = b"3 \r\nabc\r\n1\t  \r\nd\r\n0  \r\n\r\n";
        for cut in 1..body.len() {
            let (mut client, mut server) = (Chunked::lenient(), Chunked::new());
            assert!(body.chunks(cut).all(|piece| client.skip(piece).is_ok()) && client.done());
            assert!(!body.chunks(cut).all(|piece| server.skip(piece).is_ok()));
        }
    }

    #[test]
    fn chunks_that_break_the_standard_are_faults() {
        let lines = ["x\r\n", "\r\n", "5\r\nhelloX", "11111111111111111\r\n", "-5\r\n", "0x5\r\n", " 5\r\n", "5 \r\n"];
        let ends = ["5\n", "5;a\n", "5;a\rb", "5\rX", "5\r\nhello\n", "5\r\nhello\rX", "5 x\r\n", "5;\0\r\n"];
        let trailers =
            ["0\r\n\n", "0\r\nA: b\n", "0\r\n folded\r\n", "0\r\nno colon\r\n", "0\r\nA: b\r\r\n", "0\r\n: b\r\n"];
        for bad in [&lines[..], &ends, &trailers].concat() {
            assert!(Chunked::new().skip(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert_eq!(Chunked::new().skip(b"8000000000000000\r\n"), Err(TOO_LARGE));
        assert!(Chunked::new().skip(b"7fffffffffffffff\r\n").is_ok());
        assert!(Chunked::new().skip(&[b"1;".as_slice(), &[b'e'; HEAD_LIMIT + 1]].concat()).is_err());
    }
}
