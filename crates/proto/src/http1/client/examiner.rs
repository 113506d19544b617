//! Examination of response bodies: searches for the expected text, captures values, and counts events.

use run::StreamPlan;

use super::template_state::TemplateState;
use crate::Fault;
use crate::events::{EventCounter, NO_END};
use crate::http1::request::Request;
use crate::search::Search;

/// State of the examination of the current response.
pub(super) struct Examiner {
    search: Search,
    /// Counter of events; absent if answers are no streams.
    events: Option<Box<EventCounter>>,
    /// Number of events found since the last report to the caller.
    new_events: u32,
}

/// Piece of a response's body, with the status of the response.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// True if the piece is the last one of a chunk.
    pub(super) ends_chunk: bool,
    pub(super) status: u16,
}

impl Examiner {
    pub(super) fn new(stream: Option<&StreamPlan>) -> Self {
        let events = stream.map(|stream| Box::new(EventCounter::new(stream)));
        Self { search: Search::default(), events, new_events: 0 }
    }

    pub(super) fn look(&mut self, request: &Request, live: &mut Option<Box<TemplateState>>, piece: Piece<'_>) {
        if let Some(text) = &request.expect_text {
            self.search.look(text, piece.bytes);
        }
        if let Some(live) = live {
            live.memory.body(piece.bytes, &request.capture);
        }
        // If the status of an answer is unexpected, its body is not read as a stream of events.
        if let Some(events) = self.events.as_mut().filter(|_| request.expected.takes(piece.status)) {
            self.new_events += events.read(piece.bytes, piece.ends_chunk);
        }
    }

    /// Ends the examination of a complete body. Returns a fault if the content of the body is wrong.
    pub(super) fn end(&mut self, request: &Request, live: &mut Option<Box<TemplateState>>) -> Option<Fault> {
        let has_text = request.expect_text.is_none() || self.search.found();
        let has_captured =
            request.capture.is_empty() || live.as_mut().is_none_or(|live| live.memory.complete(&request.capture));
        let (events, is_complete) = self.events.as_mut().map_or((0, true), |events| events.end());
        self.new_events += events;
        self.search.clear();
        let why = match (has_text, has_captured, is_complete) {
            (false, ..) => "the expected text is not in it",
            (_, false, _) => "what is captured from it is not in it",
            (.., false) => NO_END,
            _ => return None,
        };
        Some(Fault::WrongBody(why))
    }

    /// Returns the number of events that were found since the last call.
    pub(super) const fn take_events(&mut self) -> u32 {
        std::mem::replace(&mut self.new_events, 0)
    }

    /// Prepares for another connection, without freeing the memory.
    pub(super) fn clear(&mut self) {
        self.search.clear();
        self.events.iter_mut().for_each(|events| events.clear());
        self.new_events = 0;
    }
}
