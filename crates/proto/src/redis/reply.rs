//! Reader of RESP2 and RESP3 replies, which arrive in pieces of any size. The reader skips the content of replies, and
//! stores only their kind and the text of errors. Source: the Redis serialization protocol specification.

use crate::Fault;

/// Maximum depth to which the parts of a reply may be nested.
const MAX_DEPTH: usize = 32;
/// Maximum number of stored bytes per line. This length is enough for a number or for the text of an error.
const EXAMINED_BYTES: usize = 200;
/// Maximum length of a line (a simple string, an error, or a big number), bytes.
const MAX_LINE: usize = 1 << 20;
/// Maximum size of a string in bytes (the limit of Redis itself), and also the maximum number of elements in an array.
const MAX_LENGTH: i64 = 512 << 20;

/// Kind of a complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A reply that is not an error and not a push message.
    Good,
    /// A reply that reports an error.
    Error,
    /// A message that no command requested (a push of RESP3).
    Push,
}

/// One level of a nested reply.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Number of elements that are still to come.
    left: i64,
    /// True if the elements form an attribute, which only describes the next reply.
    attribute: bool,
}

/// Reader of the replies on one connection, with its position within the current reply.
#[derive(Debug, Default)]
pub(super) struct Reader {
    levels: Vec<Level>,
    /// Number of bytes of the current string and its line end that are still to come.
    string: u64,
    line: Vec<u8>,
    length: usize,
    kind: Option<Kind>,
    /// Text of the last error reply.
    error: Vec<u8>,
}

impl Reader {
    /// Reads input up to the end of the next reply, and returns the kind of this reply. Returns `None` if the input
    /// ends before the reply.
    pub(super) fn next(&mut self, rest: &mut &[u8]) -> Result<Option<Kind>, Fault> {
        while !rest.is_empty() {
            if self.string > 0 {
                let n = self.string.min(rest.len() as u64) as usize;
                if self.levels.is_empty() && self.kind == Some(Kind::Error) {
                    let room = EXAMINED_BYTES.saturating_sub(self.error.len()).min(n);
                    self.error.extend_from_slice(&rest[..room]);
                }
                for (left, byte) in [(2, b'\r'), (1, b'\n')] {
                    let at = self.string.checked_sub(left).and_then(|at| rest[..n].get(usize::try_from(at).ok()?));
                    if at.is_some_and(|found| *found != byte) {
                        return Err(Fault::Malformed("a string of RESP does not end where its length says"));
                    }
                }
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
            let room = EXAMINED_BYTES.saturating_sub(self.line.len()).min(now.len());
            self.line.extend_from_slice(&now[..room]);
            if self.length > MAX_LINE {
                return Err(Fault::Limit("a line of RESP of more than 1 MiB"));
            }
            if end.is_some() && self.whole_line()? {
                return Ok(self.kind.take());
            }
        }
        Ok(None)
    }

    /// Returns true if a reply is incomplete.
    pub(super) fn is_inside(&self) -> bool {
        !self.levels.is_empty() || self.string > 0 || self.length > 0
    }

    /// Returns the text of the last error reply.
    pub(super) fn error(&self) -> &[u8] {
        &self.error
    }

    /// Handles a complete line. Returns true if the line completes a reply.
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
        if outermost && matches!(first, b'-' | b'!') {
            self.error.clear();
        }
        if outermost && first == b'-' {
            self.error.extend_from_slice(self.line[1..].trim_ascii_end());
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
        const INVALID_LENGTH: Fault = Fault::Malformed("a length of RESP is wrong");
        let digits = self.line.get(1..).and_then(|line| line.strip_suffix(b"\r\n")).ok_or(INVALID_LENGTH)?;
        let number: i64 = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(INVALID_LENGTH)?;
        match number {
            -1..=MAX_LENGTH => Ok(number),
            i64::MIN..-1 => Err(INVALID_LENGTH),
            _ => Err(Fault::Limit("a reply of RESP of more than 512 MiB or as many elements")),
        }
    }

    /// Begins a nested reply, with `each` times as many elements as the line says (2 for a map). Returns true if the
    /// outermost reply is complete, because the nested reply has no elements.
    fn open(&mut self, each: i64, attribute: bool) -> Result<bool, Fault> {
        let left = self.number()? * each;
        if left <= 0 {
            return Ok(if attribute { false } else { self.element() });
        }
        if self.levels.len() == MAX_DEPTH {
            return Err(Fault::Limit("a reply of RESP that is nested deeper than 32"));
        }
        self.levels.push(Level { left, attribute });
        Ok(false)
    }

    /// Counts one complete element of the innermost incomplete array. Returns true if the outermost reply is complete.
    fn element(&mut self) -> bool {
        while let Some(level) = self.levels.last_mut() {
            level.left -= 1;
            if level.left > 0 {
                return false;
            }
            if self.levels.pop().is_some_and(|level| level.attribute) {
                // The reply that the attribute describes comes next, so the outermost reply is not complete.
                return false;
            }
        }
        true
    }

    /// Drops an incomplete reply, so that the reader can be used for a new connection.
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
    fn the_words_of_an_error_are_kept() {
        for cut in [1, 3, 100] {
            let mut reader = Reader::default();
            for (bytes, words) in [
                (&b"-WRONGTYPE no such thing\r\n"[..], "WRONGTYPE no such thing"),
                (b"!8\r\nSYNTAX x\r\n", "SYNTAX x\r\n"),
                (b"+OK\r\n", "SYNTAX x\r\n"),
                (b"-ERR\r\n", "ERR"),
            ] {
                for mut piece in bytes.chunks(cut) {
                    while reader.next(&mut piece).unwrap().is_some() {}
                }
                assert_eq!(reader.error(), words.as_bytes());
            }
        }
    }

    #[test]
    fn a_string_ends_with_a_line_end_wherever_it_is_cut() {
        for cut in 1..12 {
            assert_eq!(kinds(b"$5\r\nhello\r\n$0\r\n\r\n", cut).unwrap(), [Kind::Good; 2]);
            for wrong in
                [&b"$5\r\nhelloXX"[..], b"$5\r\nhello\rX", b"$0\r\nX\n", b"*1\r\n$1\r\nabcd", b"!3\r\nERROR\r\n"]
            {
                assert!(kinds(wrong, cut).is_err(), "{wrong:?} in pieces of {cut}");
            }
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
