//! Server-sent events (WHATWG HTML, section 9.2). An event is a block of lines with a `data` field, and ends at an
//! empty line. Blocks without a `data` field, such as comments that keep the connection open, are not events.

use super::sink::EventSink;

/// Name of the field that makes a block of lines an event.
const FIELD: &[u8] = b"data";
/// Byte order mark, which may precede the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Part of a line to which the next byte belongs.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// The reader is in the byte order mark at the start of the body. The number counts the bytes of the byte order
    /// mark that have arrived.
    ByteOrderMark(u8),
    /// The reader is at the beginning of a line, whose field name is not yet known. All bytes of the line that have
    /// arrived match the beginning of [`FIELD`]. The number counts these bytes.
    Name(u8),
    /// The reader is in the rest of a line of the field `data`.
    Data,
    /// The reader is in the rest of a line of any field except `data`.
    Other,
}

/// Splitter that finds the events in a stream of server-sent events.
#[derive(Debug)]
pub(super) struct ServerSentEvents {
    at: Position,
    /// True if the last byte was a carriage return. A line feed directly after the carriage return does not end another
    /// line.
    after_return: bool,
    /// True if the current block of lines has a field `data`.
    has_data: bool,
}

impl Default for ServerSentEvents {
    fn default() -> Self {
        Self { at: Position::ByteOrderMark(0), after_return: false, has_data: false }
    }
}

impl ServerSentEvents {
    pub(super) fn read(&mut self, piece: &[u8], sink: &mut EventSink<'_>) {
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            if std::mem::take(&mut self.after_return) && byte == b'\n' {
                rest = &rest[1..];
                continue;
            }
            rest = match self.at {
                Position::Data | Position::Other => self.rest_of_line(rest, sink),
                Position::ByteOrderMark(n) => self.byte_order_mark(rest, n),
                Position::Name(n) => {
                    self.name(byte, n, sink);
                    &rest[1..]
                }
            };
        }
    }

    /// Reads a byte where the byte order mark may be, after `n` bytes of the mark. If the byte order mark turns out to
    /// be incomplete, the bytes so far are the beginning of a line.
    fn byte_order_mark<'a>(&mut self, rest: &'a [u8], n: u8) -> &'a [u8] {
        match (BYTE_ORDER_MARK.get(usize::from(n)) == Some(&rest[0]), n) {
            (true, 0 | 1) => self.at = Position::ByteOrderMark(n + 1),
            (true, _) => self.at = Position::Name(0),
            (false, 0) => {
                self.at = Position::Name(0);
                return rest;
            }
            // A line that begins with only a part of the byte order mark is not a `data` line.
            (false, _) => {
                self.at = Position::Other;
                return rest;
            }
        }
        &rest[1..]
    }

    /// Reads a byte at the beginning of a line, after `n` bytes that match the field's name.
    fn name(&mut self, byte: u8, n: u8, sink: &mut EventSink<'_>) {
        let is_whole = usize::from(n) == FIELD.len();
        match byte {
            b'\r' | b'\n' => {
                // A line without a colon is a field without a value.
                self.has_data |= is_whole;
                if n == 0 {
                    self.block_ends(sink);
                }
                self.line_ends(byte);
            }
            b':' if is_whole => (self.at, self.has_data) = (Position::Data, true),
            _ if FIELD.get(usize::from(n)) == Some(&byte) => self.at = Position::Name(n + 1),
            _ => self.at = Position::Other,
        }
    }

    /// Reads up to the end of a line, and returns the bytes after the line end.
    fn rest_of_line<'a>(&mut self, rest: &'a [u8], sink: &mut EventSink<'_>) -> &'a [u8] {
        let end = memchr::memchr2(b'\r', b'\n', rest);
        if matches!(self.at, Position::Data) {
            sink.content(&rest[..end.unwrap_or(rest.len())]);
        }
        let Some(end) = end else { return &[] };
        self.line_ends(rest[end]);
        &rest[end + 1..]
    }

    fn line_ends(&mut self, byte: u8) {
        (self.at, self.after_return) = (Position::Name(0), byte == b'\r');
    }

    fn block_ends(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::take(&mut self.has_data) {
            sink.event_ends();
        } else {
            sink.no_event();
        }
    }
}
