//! Chunked transfer coding (RFC 9112, section 7.1), read over: sizes are checked, data is skipped, trailers ignored.

use super::HEAD_LIMIT;
use crate::Fault;

/// Where in a chunked body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the size; whether a digit was seen.
    Size(bool),
    /// Between size and line end.
    Extension,
    Data,
    /// After the data, before its line end.
    DataEnd,
    /// At the begin of a trailer line.
    LineStart,
    /// Inside a trailer line.
    Line,
    /// After the carriage return of the last line.
    LastLine,
}

/// Reader of one chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    at: At,
    left: u64,
    /// Bytes of extensions and trailers so far.
    extra: u32,
}

impl Chunked {
    pub(super) const fn new() -> Self {
        Self { at: At::Size(false), left: 0, extra: 0 }
    }

    /// Reads on. Gives how many bytes belonged to the body and whether it is complete.
    pub(super) fn skip(&mut self, input: &[u8]) -> Result<(usize, bool), Fault> {
        let mut used = 0;
        while let Some(&byte) = input.get(used) {
            if self.at == At::Data {
                let n = self.left.min((input.len() - used) as u64);
                used += n as usize;
                self.left -= n;
                if self.left == 0 {
                    self.at = At::DataEnd;
                }
                continue;
            }
            used += 1;
            if self.step(byte)? {
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    /// Takes one byte that is no data; true at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool, Fault> {
        self.at = match (self.at, byte) {
            (At::Size(seen), _) => return self.size(seen, byte),
            (At::Extension, b'\n') => self.after_size(),
            (At::Extension, _) => self.count(At::Extension)?,
            (At::DataEnd, b'\r') => At::DataEnd,
            (At::DataEnd, b'\n') => {
                self.left = 0;
                At::Size(false)
            }
            (At::DataEnd, _) => return Err(Fault::Malformed("a chunk is longer than its size")),
            (At::LineStart, b'\r') => At::LastLine,
            (At::LineStart | At::LastLine, b'\n') => return Ok(true),
            (At::Line, b'\n') => At::LineStart,
            (At::LineStart | At::Line, _) => self.count(At::Line)?,
            (At::LastLine, _) => return Err(Fault::Malformed("a trailer line")),
            (At::Data, _) => At::Data,
        };
        Ok(false)
    }

    fn size(&mut self, seen: bool, byte: u8) -> Result<bool, Fault> {
        const NO_SIZE: Fault = Fault::Malformed("a chunk size is no hexadecimal number");
        self.at = match (byte, (byte as char).to_digit(16)) {
            (_, Some(_)) if self.left >> 60 != 0 => return Err(Fault::Malformed("a chunk size is too large")),
            (_, Some(digit)) => {
                self.left = self.left << 4 | u64::from(digit);
                At::Size(true)
            }
            (b'\n', None) if seen => self.after_size(),
            (b'\r' | b';' | b' ' | b'\t', None) if seen => At::Extension,
            _ => return Err(NO_SIZE),
        };
        Ok(false)
    }

    const fn after_size(&self) -> At {
        if self.left == 0 { At::LineStart } else { At::Data }
    }

    fn count(&mut self, at: At) -> Result<At, Fault> {
        self.extra += 1;
        if self.extra as usize > HEAD_LIMIT {
            return Err(Fault::Limit("chunk extensions and trailers exceed 64 KiB"));
        }
        Ok(at)
    }
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
    fn wrong_sizes_are_faults() {
        for bad in ["x\r\n", "\r\n", "5\r\nhelloX", "11111111111111111\r\n"] {
            assert!(Chunked::new().skip(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(Chunked::new().skip(&[b"1;".as_slice(), &[b'e'; HEAD_LIMIT + 1]].concat()).is_err());
    }
}
