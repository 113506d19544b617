//! Replies of RESP2 and RESP3, read over in pieces of any size: only what kind each is is kept.
//! Source: the Redis serialization protocol specification.

use crate::Fault;

/// Replies nested deeper than this are refused.
const DEEPEST: usize = 32;
/// Bytes of a line that are looked at: the lengths of RESP, and the first word of an error.
const LINE: usize = 64;
/// Longest line (a simple string, an error, a big number).
const LONGEST_LINE: usize = 1 << 20;
/// Longest string, which is Redis's own limit, and most elements of one level.
const LONGEST: i64 = 512 << 20;

/// What a whole reply was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything that is no error.
    Good,
    /// An error.
    Error,
    /// Something that no command asked for (RESP3).
    Push,
}

/// A level of nesting: elements still to come, and whether they belong to an attribute, which is no reply itself.
#[derive(Clone, Copy, Debug)]
struct Level {
    left: i64,
    attribute: bool,
}

/// Where in a reply the input is.
#[derive(Debug, Default)]
pub(super) struct Reader {
    levels: Vec<Level>,
    /// Bytes of a string that are still to come, its line end included.
    string: u64,
    line: Vec<u8>,
    length: usize,
    kind: Option<Kind>,
    /// The first word of the last error.
    error: Vec<u8>,
}

impl Reader {
    /// Reads on; what reply was completed, if any, before the input was used up.
    pub(super) fn next(&mut self, rest: &mut &[u8]) -> Result<Option<Kind>, Fault> {
        while !rest.is_empty() {
            if self.string > 0 {
                let n = self.string.min(rest.len() as u64) as usize;
                *rest = &rest[n..];
                self.string -= n as u64;
                if self.string == 0 && self.element() {
                    return Ok(self.kind.take());
                }
                continue;
            }
            let end = rest.iter().position(|b| *b == b'\n');
            let (now, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
            *rest = after;
            self.length += now.len();
            let room = LINE.saturating_sub(self.line.len()).min(now.len());
            self.line.extend_from_slice(&now[..room]);
            if self.length > LONGEST_LINE {
                return Err(Fault::Limit("a line of RESP of more than 1 MiB"));
            }
            if end.is_some() && self.whole_line()? {
                return Ok(self.kind.take());
            }
        }
        Ok(None)
    }

    /// Whether a reply has begun and is not complete.
    pub(super) fn is_inside(&self) -> bool {
        !self.levels.is_empty() || self.string > 0 || self.length > 0
    }

    /// The first word of the last error.
    pub(super) fn error(&self) -> &[u8] {
        &self.error
    }

    /// A line is there; whether it completes a reply.
    fn whole_line(&mut self) -> Result<bool, Fault> {
        let first = *self.line.first().unwrap_or(&0);
        let outermost = self.levels.is_empty();
        if outermost && first != b'|' {
            self.kind = Some(match first {
                b'-' | b'!' => Kind::Error,
                b'>' => Kind::Push,
                _ => Kind::Good,
            });
        }
        if outermost && first == b'-' {
            self.error.clear();
            let word = self.line[1..].split(|b| *b == b' ' || *b == b'\r' || *b == b'\n').next().unwrap_or_default();
            self.error.extend_from_slice(word);
        }
        let complete = match first {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => self.element(),
            b'$' | b'!' | b'=' => match self.number()? {
                -1 => self.element(),
                n => {
                    self.string = n as u64 + 2;
                    false
                }
            },
            b'*' | b'~' | b'>' => self.open(1, false)?,
            b'%' => self.open(2, false)?,
            b'|' => self.open(2, true)?,
            _ => return Err(Fault::Malformed("a reply that is not RESP")),
        };
        self.line.clear();
        self.length = 0;
        Ok(complete)
    }

    fn number(&self) -> Result<i64, Fault> {
        const WRONG: Fault = Fault::Malformed("a length of RESP is wrong");
        let digits = self.line.get(1..).and_then(|line| line.strip_suffix(b"\r\n")).ok_or(WRONG)?;
        let number: i64 = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(WRONG)?;
        match number {
            -1..=LONGEST => Ok(number),
            i64::MIN..-1 => Err(WRONG),
            _ => Err(Fault::Limit("a reply of RESP of more than 512 MiB or as many elements")),
        }
    }

    /// A level of so many elements each begins; whether it is complete with that.
    fn open(&mut self, each: i64, attribute: bool) -> Result<bool, Fault> {
        let left = self.number()? * each;
        if left <= 0 {
            return Ok(if attribute { false } else { self.element() });
        }
        if self.levels.len() == DEEPEST {
            return Err(Fault::Limit("a reply of RESP that is nested deeper than 32"));
        }
        self.levels.push(Level { left, attribute });
        Ok(false)
    }

    /// An element is complete; whether the whole reply is with it.
    fn element(&mut self) -> bool {
        while let Some(level) = self.levels.last_mut() {
            level.left -= 1;
            if level.left > 0 {
                return false;
            }
            if self.levels.pop().is_some_and(|level| level.attribute) {
                // The reply that it describes follows.
                return false;
            }
        }
        true
    }

    /// Forgets the connection.
    pub(super) fn reset(&mut self) {
        self.levels.clear();
        self.line.clear();
        (self.string, self.length, self.kind) = (0, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(bytes: &[u8], cut: usize) -> Result<Vec<Kind>, Fault> {
        let (mut reader, mut all) = (Reader::default(), Vec::new());
        for mut piece in bytes.chunks(cut) {
            while let Some(kind) = reader.next(&mut piece)? {
                all.push(kind);
            }
        }
        assert!(!reader.is_inside());
        Ok(all)
    }

    proptest! {
        #[test]
        fn every_shape_is_read_over_any_split(cut in 1_usize..40) {
            use Kind::{Error, Good, Push};
            let replies = b"+OK\r\n-ERR unknown\r\n:12\r\n$3\r\na\nb\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n$1\r\nx\r\n*1\r\n:1\r\n_\r\n#t\r\n,1.5\r\n(123\r\n\
                %1\r\n+k\r\n*2\r\n:1\r\n:2\r\n~1\r\n+a\r\n=5\r\ntxt:a\r\n!3\r\nERR\r\n|1\r\n+ttl\r\n:9\r\n+described\r\n>2\r\n+msg\r\n+x\r\n*1\r\n-ERR inside\r\n";
            let expected = [Good, Error, Good, Good, Good, Good, Good, Good, Good, Good, Good, Good, Good, Good, Good, Error, Good, Push, Good];
            prop_assert_eq!(kinds(replies, cut).unwrap(), expected);
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = Reader::default();
            let mut rest = &bytes[..];
            while let Ok(Some(_)) = reader.next(&mut rest) {}
        }
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        for (bytes, words) in [
            (b"*1\r\n".repeat(40), "deeper"),
            (b"$999999999999\r\n".to_vec(), "512 MiB"),
            (vec![b'+'; 2 << 20], "1 MiB"),
            (b"$-2\r\n".to_vec(), "length"),
            (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "not RESP"),
        ] {
            let fault = Reader::default().next(&mut &bytes[..]).unwrap_err().to_string();
            assert!(fault.contains(words), "{words}: {fault}");
        }
    }
}
