//! Chunked transfer coding (RFC 9112, section 7.1), read over: sizes are checked, data is skipped, trailers ignored.
//!
//! Read to the letter: every line ends with CR LF, and extensions and trailers hold no control characters. A reader that
//! sees another end of a line than the next one does lets requests be smuggled past it.

use super::HEAD_LIMIT;
use crate::Fault;

/// Where in a chunked body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the size, after so many digits.
    Size(u8),
    /// After white space behind the size.
    SizeEnd,
    Extension,
    /// After the carriage return of the size's line.
    SizeLf,
    Data,
    /// After the data.
    DataCr,
    DataLf,
    /// At the begin of a trailer line.
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    /// After the carriage return of the last line.
    LastLf,
    Done,
}

/// Reader of one chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunked {
    at: At,
    left: u64,
    /// Bytes of extensions and trailers so far.
    extra: u32,
}

const EXTENSION: Fault = Fault::Malformed("a chunk extension");
const TRAILER: Fault = Fault::Malformed("a trailer line");
const NO_SIZE: Fault = Fault::Malformed("a chunk size is not a hexadecimal number");
const TOO_LARGE: Fault = Fault::Malformed("a chunk size is too large");

impl Chunked {
    /// At the begin of a body.
    pub const fn new() -> Self {
        Self { at: At::Size(0), left: 0, extra: 0 }
    }

    /// Whether the body is complete.
    pub fn done(&self) -> bool {
        self.at == At::Done
    }

    /// Reads on. Gives how many bytes belonged to the body and whether it is complete.
    pub fn skip(&mut self, input: &[u8]) -> Result<(usize, bool), Fault> {
        self.read(input, |_| ())
    }

    /// The same, and hands on the pieces of data.
    pub fn read(&mut self, input: &[u8], mut each: impl FnMut(&[u8])) -> Result<(usize, bool), Fault> {
        let mut used = 0;
        while let Some(&byte) = input.get(used).filter(|_| !self.done()) {
            if self.at == At::Data {
                let n = self.left.min((input.len() - used) as u64);
                each(&input[used..used + n as usize]);
                used += n as usize;
                self.left -= n;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            used += 1;
            self.at = self.step(byte)?;
        }
        Ok((used, self.done()))
    }

    /// Where the byte after this one stands, which is no data.
    fn step(&mut self, byte: u8) -> Result<At, Fault> {
        match (self.at, byte) {
            (At::Size(digits), _) => self.size(digits, byte),
            (At::SizeEnd, b' ' | b'\t') => self.count(At::SizeEnd),
            (At::SizeEnd, b';') => self.count(At::Extension),
            (At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Extension, _) if is_text(byte) => self.count(At::Extension),
            (At::SizeLf, b'\n') if self.left == 0 => Ok(At::TrailerStart),
            (At::SizeLf, b'\n') => Ok(At::Data),
            (At::SizeEnd | At::Extension | At::SizeLf, _) => Err(EXTENSION),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Size(0)),
            (At::DataCr | At::DataLf, _) => Err(Fault::Malformed("a chunk is longer than its size")),
            (At::TrailerStart, b'\r') => Ok(At::LastLf),
            (At::LastLf, b'\n') => Ok(At::Done),
            (At::TrailerName, b':') => self.count(At::TrailerValue),
            (At::TrailerStart | At::TrailerName, _) if is_token(byte) => self.count(At::TrailerName),
            (At::TrailerValue, b'\r') => Ok(At::TrailerLf),
            (At::TrailerValue, _) if is_text(byte) => self.count(At::TrailerValue),
            (At::TrailerLf, b'\n') => Ok(At::TrailerStart),
            (At::TrailerStart | At::TrailerName | At::TrailerValue | At::TrailerLf | At::LastLf, _) => Err(TRAILER),
            (At::Data | At::Done, _) => Ok(self.at),
        }
    }

    fn size(&mut self, digits: u8, byte: u8) -> Result<At, Fault> {
        match ((byte as char).to_digit(16), byte) {
            (Some(digit), _) => {
                self.left = if digits == 0 { 0 } else { self.left << 4 } | u64::from(digit);
                if digits < 16 { Ok(At::Size(digits + 1)) } else { Err(TOO_LARGE) }
            }
            (None, _) if digits == 0 => Err(NO_SIZE),
            (None, b'\r') => Ok(At::SizeLf),
            (None, b';') => self.count(At::Extension),
            (None, b' ' | b'\t') => self.count(At::SizeEnd),
            (None, _) => Err(NO_SIZE),
        }
    }

    fn count(&mut self, at: At) -> Result<At, Fault> {
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

/// Field text: no control character but the tab (RFC 9110, section 5.5).
const fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// A byte of a token (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
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
        }
    }

    #[test]
    fn what_is_not_to_the_letter_is_a_fault() {
        let lines = ["x\r\n", "\r\n", "5\r\nhelloX", "11111111111111111\r\n", "-5\r\n", "0x5\r\n", " 5\r\n", "5 \r\n"];
        let ends = ["5\n", "5;a\n", "5;a\rb", "5\rX", "5\r\nhello\n", "5\r\nhello\rX", "5 x\r\n", "5;\0\r\n"];
        let trailers =
            ["0\r\n\n", "0\r\nA: b\n", "0\r\n folded\r\n", "0\r\nno colon\r\n", "0\r\nA: b\r\r\n", "0\r\n: b\r\n"];
        for bad in [&lines[..], &ends, &trailers].concat() {
            assert!(Chunked::new().skip(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(Chunked::new().skip(&[b"1;".as_slice(), &[b'e'; HEAD_LIMIT + 1]].concat()).is_err());
    }
}
