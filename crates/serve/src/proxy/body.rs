//! Finds the end of a message's body, which the proxy forwards unchanged.

use proto::Fault;
use proto::http1::{Chunked, Framing};

/// The part of a message's body that is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A body of known length: the number of bytes that are still to come.
    Length(u64),
    /// The rest of a body in chunks, each of which begins with its length.
    Chunked(Chunked),
    /// The body contains all bytes until the connection ends.
    UntilClose,
}

impl Body {
    pub(super) const NONE: Self = Self::Length(0);

    /// Returns the body that a message's head announces, or `undeclared` if the head announces none.
    pub(super) const fn of(framing: Framing, undeclared: Self) -> Self {
        match framing {
            Framing::Length(bytes) => Self::Length(bytes),
            Framing::Chunked => Self::Chunked(Chunked::new()),
            Framing::Undeclared | Framing::OtherCoding => undeclared,
        }
    }

    pub(super) fn done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.done(),
            Self::UntilClose => false,
        }
    }

    /// Returns how many of the bytes in `bytes` belong to the body, and subtracts them from the remaining length of the
    /// body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        match self {
            Self::Length(left) => {
                let own = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= own as u64;
                Ok(own)
            }
            Self::Chunked(chunks) => chunks.skip(bytes).map(|(own, _)| own),
            Self::UntilClose => Ok(bytes.len()),
        }
    }
}
