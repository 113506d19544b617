//! The two times of an answer that can be limited: until its last byte, and until its first.

use std::collections::BTreeMap;

use super::Trial;
use crate::{CensoredTimes, Hist, Summary};

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

    /// Returns the summary of this time in a trial. It is empty if a run by an earlier version did not record it.
    pub fn summary(self, trial: &Trial) -> &Summary {
        match self {
            Self::LastByte => &trial.latency_us,
            Self::FirstByte => &trial.first_byte_us,
        }
    }

    /// Returns the histogram of this time. If every answer came in one piece, both times have one histogram.
    pub fn hist(self, trial: &Trial) -> Option<&Hist> {
        let known = (self.summary(trial).count > 0).then_some(&trial.histograms);
        known.and_then(|all| self.of(all)).filter(|hist| !hist.is_empty())
    }

    /// Returns the times of a trial, including the requests that were never answered.
    pub fn censored(self, trial: &Trial, failed: u64) -> CensoredTimes {
        super::censored::answer_times(&trial.histograms, self, failed)
    }

    pub(super) fn of(self, histograms: &BTreeMap<String, Hist>) -> Option<&Hist> {
        histograms.get(self.histogram()).or_else(|| histograms.get(Self::LastByte.histogram()))
    }
}
