//! Streams of lines, such as NDJSON. Each line that is not blank is an event. Blank lines are not events: servers send
//! them only to keep a connection open.

use super::sink::EventSink;

/// Splitter that finds the events in a stream of lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// True if the current line has any text that is not white space.
    has_text: bool,
}

impl Lines {
    pub(super) fn read(&mut self, piece: &[u8], sink: &mut EventSink<'_>) {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.text(&rest[..end], sink);
            self.end(sink);
            rest = &rest[end + 1..];
        }
        self.text(rest, sink);
    }

    /// Ends the current line of the body. The caller calls this function at a line feed and at the end of the body.
    pub(super) fn end(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::take(&mut self.has_text) {
            sink.event_ends();
        } else {
            sink.no_event();
        }
    }

    fn text(&mut self, text: &[u8], sink: &mut EventSink<'_>) {
        self.has_text |= !text.trim_ascii().is_empty();
        sink.content(text);
    }
}
