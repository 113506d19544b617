//! Counts the events that a splitter finds in a body, and searches for the event that ends the stream.

use memchr::memmem::Finder;

use crate::search::Search;

/// Counter of the events that a splitter finds. The counter also searches the events' content for the end marker, which
/// is the text given by `--stream-end`.
pub(super) struct EventSink<'a> {
    marker: Option<&'a mut EndMarker>,
    count: u32,
}

impl<'a> EventSink<'a> {
    pub(super) const fn new(marker: Option<&'a mut EndMarker>) -> Self {
        Self { marker, count: 0 }
    }

    /// Returns the number of events so far.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Searches a piece of the current event's content for the end marker.
    pub(super) fn content(&mut self, piece: &[u8]) {
        if let Some(marker) = &mut self.marker {
            marker.search.look(&marker.text, piece);
        }
    }

    /// Counts the current event, unless this event ends the stream.
    pub(super) fn event_ends(&mut self) {
        let is_end = self.marker.as_mut().is_some_and(|marker| marker.event_ends());
        self.count += u32::from(!is_end);
    }

    /// Forgets the content of the current line or block of lines, because it is not an event.
    pub(super) fn no_event(&mut self) {
        if let Some(marker) = &mut self.marker {
            marker.search.clear();
        }
    }
}

/// Search for the event that ends a stream.
#[derive(Debug)]
pub(super) struct EndMarker {
    text: Finder<'static>,
    search: Search,
    /// True once the event that ends the stream has arrived.
    ended: bool,
}

impl EndMarker {
    pub(super) fn new(text: &str) -> Option<Self> {
        let finder = || Finder::new(text).into_owned();
        (!text.is_empty()).then(|| Self { text: finder(), search: Search::default(), ended: false })
    }

    /// Ends the current event of the stream. Returns true if the current event ends the stream.
    fn event_ends(&mut self) -> bool {
        let is_end = self.search.found();
        self.ended |= is_end;
        self.search.clear();
        is_end
    }

    /// Returns true if the event that ends the stream has arrived.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn clear(&mut self) {
        self.search.clear();
        self.ended = false;
    }
}
