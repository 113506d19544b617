//! The two times of an answer that can be limited: until its last byte, and until its first.

use std::collections::BTreeMap;

use crate::Hist;

/// A time of an answer. Both times start at the same moment: the intended start, the connect or the send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerTime {
    /// Response time: until the last byte.
    #[default]
    LastByte,
    /// Time until the first byte of the answer. Interim answers of HTTP (1xx) do not count.
    FirstByte,
}

impl AnswerTime {
    /// Returns the name of the time's histogram.
    pub const fn histogram(self) -> &'static str {
        match self {
            Self::LastByte => "response",
            Self::FirstByte => "first_byte",
        }
    }

    /// Returns the histogram of this time. If every answer came in one piece, both times have one histogram.
    pub(super) fn of(self, histograms: &BTreeMap<String, Hist>) -> Option<&Hist> {
        histograms.get(self.histogram()).or_else(|| histograms.get(Self::LastByte.histogram()))
    }
}
