//! Where a message body ends, seen by somebody who only passes it on. Bytes are counted and chunk sizes read; nothing
//! is changed. Source: RFC 9112, sections 6 and 7.

/// What is left of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunks),
    /// Everything until the connection ends.
    UntilClose,
}

/// Position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    state: State,
    /// Size of the chunk, or what is left of it.
    left: u64,
    /// Bytes of sizes, extensions and trailers so far; bounded, so that no line goes on for ever.
    lines: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A size has no digit yet.
    SizeStart,
    Size,
    Extension,
    Data,
    DataEnd,
    Trailer,
    /// A trailer line has no byte yet: an empty one ends the body.
    TrailerStart,
    Done,
}

/// The chunks do not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadChunks;

impl Body {
    pub(super) const NONE: Self = Self::Length(0);
    pub(super) const CHUNKED: Self = Self::Chunked(Chunks { state: State::SizeStart, left: 0, lines: 0 });

    pub(super) fn done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.state == State::Done,
            Self::UntilClose => false,
        }
    }

    /// How many of these bytes belong to the body; moves on over them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, BadChunks> {
        match self {
            Self::Length(left) => {
                let own = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= own as u64;
                Ok(own)
            }
            Self::Chunked(chunks) => chunks.take(bytes),
            Self::UntilClose => Ok(bytes.len()),
        }
    }
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, BadChunks> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::Data {
                let own = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - at);
                self.left -= own as u64;
                at += own;
                if self.left == 0 {
                    self.state = State::DataEnd;
                }
                continue;
            }
            self.line_byte(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    /// One byte outside of data.
    fn line_byte(&mut self, byte: u8) -> Result<(), BadChunks> {
        self.lines += 1;
        if self.lines > 1 << 26 {
            return Err(BadChunks);
        }
        self.state = match (self.state, byte) {
            (State::SizeStart | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = u64::from((byte as char).to_digit(16).unwrap_or(0));
                self.left = self.left.checked_mul(16).and_then(|l| l.checked_add(digit)).ok_or(BadChunks)?;
                State::Size
            }
            (State::Size, b';' | b' ' | b'\t') => State::Extension,
            (State::Size | State::Extension, b'\n') if self.left == 0 => State::TrailerStart,
            (State::Size | State::Extension, b'\n') => State::Data,
            (State::Size, b'\r') => State::Extension,
            (State::SizeStart | State::Size, _) => return Err(BadChunks),
            (State::Extension, _) => State::Extension,
            (State::DataEnd, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => State::SizeStart,
            (State::DataEnd, _) => return Err(BadChunks),
            (State::TrailerStart, b'\n') => State::Done,
            (State::TrailerStart, b'\r') => State::TrailerStart,
            (State::Trailer, b'\n') => State::TrailerStart,
            (State::TrailerStart | State::Trailer, _) => State::Trailer,
            (State::Data | State::Done, _) => self.state,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &[u8] = b"5;x=y\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: 1\r\n\r\n";

    #[test]
    fn ends_at_the_last_chunk_and_not_later() {
        let mut body = Body::CHUNKED;
        let mut bytes = WHOLE.to_vec();
        bytes.extend_from_slice(b"HTTP/1.1 200 OK");
        assert_eq!(body.take(&bytes), Ok(WHOLE.len()));
        assert!(body.done());
        let mut body = Body::Length(3);
        assert_eq!(body.take(b"abcd"), Ok(3));
        assert!(body.done());
    }

    #[test]
    fn refuses_what_is_no_chunk() {
        for bad in [&b"x\r\n"[..], b"5\r\nhelloX", b"\r\n", b";x\r\n", b"fffffffffffffffff\r\n"] {
            assert_eq!(
                {
                    let mut body = Body::CHUNKED;
                    body.take(bad)
                },
                Err(BadChunks),
                "{bad:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_splitting_gives_the_same(cuts in prop::collection::vec(1..9_usize, 0..60)) {
            let (mut body, mut at, mut cuts) = (Body::CHUNKED, 0, cuts.into_iter());
            while at < WHOLE.len() {
                let end = (at + cuts.next().unwrap_or(WHOLE.len())).min(WHOLE.len());
                prop_assert_eq!(body.take(&WHOLE[at..end]), Ok(end - at));
                at = end;
                prop_assert_eq!(body.done(), at == WHOLE.len());
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut body = Body::CHUNKED;
            let _ = body.take(&bytes);
        }
    }
}
