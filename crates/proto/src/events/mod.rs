//! Events in the bodies of answers that are streams. Each stream format has a splitter, which counts the events that
//! end in each piece of a body. No splitter stores the content of an event.

mod lines;
mod sink;
mod sse;

use run::{StreamFormat, StreamPlan};

use self::lines::Lines;
use self::sink::{EndMarker, EventSink};
use self::sse::ServerSentEvents;
use crate::grpc_messages::Messages;

/// Error text for a body without the event that should end the stream.
pub(crate) const NO_END: &str = "the event that ends a stream (--stream-end) is not in it";

/// Counter of the events in the bodies of a connection's answers, one body after another.
#[derive(Debug)]
pub(crate) struct EventCounter {
    format: StreamFormat,
    splitter: Splitter,
    marker: Option<EndMarker>,
}

#[derive(Debug)]
enum Splitter {
    Sse(ServerSentEvents),
    Lines(Lines),
    /// Each chunk or WebSocket message with content is an event. The `bool` is true if content of the current chunk or
    /// message has arrived.
    Chunks(bool),
    Messages(Messages),
}

impl Splitter {
    fn new(format: StreamFormat) -> Self {
        match format {
            StreamFormat::Sse => Self::Sse(ServerSentEvents::default()),
            StreamFormat::Ndjson => Self::Lines(Lines::default()),
            StreamFormat::Chunks | StreamFormat::Ws => Self::Chunks(false),
            StreamFormat::Grpc => Self::Messages(Messages::NONE),
        }
    }
}

impl EventCounter {
    pub(crate) fn new(plan: &StreamPlan) -> Self {
        Self { format: plan.format, splitter: Splitter::new(plan.format), marker: EndMarker::new(&plan.end) }
    }

    /// Reads the next piece of the body, and returns the number of events that end in it. `ends_chunk` is true if the
    /// piece is the last one of a chunk or WebSocket message.
    pub(crate) fn read(&mut self, piece: &[u8], ends_chunk: bool) -> u32 {
        let mut sink = EventSink::new(self.marker.as_mut());
        match &mut self.splitter {
            Splitter::Sse(events) => events.read(piece, &mut sink),
            Splitter::Lines(lines) => lines.read(piece, &mut sink),
            Splitter::Chunks(has_content) => {
                *has_content |= !piece.is_empty();
                sink.content(piece);
                if ends_chunk && std::mem::take(has_content) {
                    sink.event_ends();
                }
            }
            Splitter::Messages(messages) => messages.read(piece, || sink.event_ends()),
        }
        sink.count()
    }

    /// Returns true if the event that ends a stream has arrived. Returns `None` if the user named no event that ends a
    /// stream (`--stream-end`).
    pub(crate) fn has_end(&self) -> Option<bool> {
        self.marker.as_ref().map(EndMarker::has_ended)
    }

    /// Ends the body of an answer, and prepares for the next body. Returns the number of events that end with the body,
    /// and true if the stream is complete. A stream is incomplete if the body lacks the event that should have ended
    /// the stream.
    pub(crate) fn end(&mut self) -> (u32, bool) {
        let mut sink = EventSink::new(self.marker.as_mut());
        if let Splitter::Lines(lines) = &mut self.splitter {
            lines.end(&mut sink);
        }
        let count = sink.count();
        let is_complete = self.has_end() != Some(false);
        self.clear();
        (count, is_complete)
    }

    /// Prepares the counter for the body of the next answer.
    pub(crate) fn clear(&mut self) {
        self.splitter = Splitter::new(self.format);
        self.marker.iter_mut().for_each(EndMarker::clear);
    }
}

#[cfg(test)]
mod tests;
