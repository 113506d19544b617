//! The times of an answer that the user can limit. These times last until the answer's first byte, its last byte or its
//! first event, or from event to event.

use std::collections::BTreeMap;

use crate::{Hist, SummaryFigure};

/// A time of an answer that loadline measures and that the user can limit. All times of an answer, except the gap
/// between two events, begin at the start of the request. Depending on the load, the start of a request is its due
/// time, its connect or its send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerTime {
    /// Response time: until the last byte.
    #[default]
    LastByte,
    /// Time until the first byte of the answer. Interim answers of HTTP (1xx) do not count.
    FirstByte,
    /// Time until the first event of a stream.
    FirstEvent,
    /// Time between an event of a stream and the next event.
    Gap,
}

impl AnswerTime {
    /// Returns the name of the histogram that contains this time.
    pub const fn histogram(self) -> &'static str {
        match self {
            Self::LastByte => "response",
            Self::FirstByte => "first_byte",
            Self::FirstEvent => "first_event",
            Self::Gap => "gap",
        }
    }

    /// Returns true for the times that belong to the events of a stream. A request without an answer has no times of
    /// stream events.
    pub const fn is_of_events(self) -> bool {
        matches!(self, Self::FirstEvent | Self::Gap)
    }

    /// Returns the name of a figure of this time, as written in a sentence: `median time to the first byte`.
    pub fn figure_name(self, figure: SummaryFigure) -> String {
        let name = match self {
            Self::LastByte => "response time",
            Self::FirstByte => "time to the first byte",
            Self::FirstEvent => "time to the first event",
            Self::Gap => "gap between events",
        };
        match figure {
            SummaryFigure::P50 => format!("median {name}"),
            figure => format!("{} of the {name}", figure.label()),
        }
    }

    /// Returns the histogram of this time from the histograms of a window. If every answer came in one piece, the time
    /// to the first byte and the response time share one histogram.
    pub(super) fn of(self, histograms: &BTreeMap<String, Hist>) -> Option<&Hist> {
        let own = histograms.get(self.histogram());
        own.or_else(|| histograms.get(Self::LastByte.histogram()).filter(|_| !self.is_of_events()))
    }
}
