//! Detection of the end of a message body, which is forwarded unchanged.

use proto::Fault;
use proto::http1::{Chunked, Framing};

/// The rest of a message body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A number of bytes.
    Length(u64),
    /// The body comes in chunks, each with its length.
    Chunked(Chunked),
    /// The body consists of all bytes until the connection ends.
    UntilClose,
}

impl Body {
    pub(super) const NONE: Self = Self::Length(0);

    /// Returns the body that a message head announces, or `undeclared` if the head announces none.
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

    /// Returns how many of these bytes belong to the body, and reduces the remaining length by this number.
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
