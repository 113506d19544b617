//! The first answer of a connection in the form of HTTP/1.1, to show it to a person: status line, where it leads, and the
//! beginning of its body.

/// Bytes that are kept of it.
const KEPT: usize = 1024;

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Shown {
    text: Vec<u8>,
    /// The header `location` of the block that is read now.
    location: Vec<u8>,
    /// The stream of the answer; 0 before its headers.
    stream: u32,
    over: bool,
}

impl Shown {
    /// A header of some block.
    #[inline]
    pub(super) fn header(&mut self, name: &[u8], value: &[u8]) {
        if !self.over && name == b"location" {
            self.location.clear();
            self.location.extend_from_slice(&value[..value.len().min(KEPT)]);
        }
    }

    /// The headers of a response, its status known.
    #[inline]
    pub(super) fn begins(&mut self, stream: u32, status: u16) {
        if self.over || self.stream > 0 {
            return;
        }
        self.stream = stream;
        self.text.extend_from_slice(format!("HTTP/2 {status}\r\n").as_bytes());
        if !self.location.is_empty() {
            self.text.extend_from_slice(b"location: ");
            self.text.append(&mut self.location);
            self.text.extend_from_slice(b"\r\n");
        }
        self.text.extend_from_slice(b"\r\n");
    }

    /// A piece of a body.
    #[inline]
    pub(super) fn body(&mut self, stream: u32, bytes: &[u8]) {
        if !self.over && stream == self.stream {
            let room = KEPT.saturating_sub(self.text.len());
            self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// A response is complete.
    #[inline]
    pub(super) const fn ends(&mut self, stream: u32) {
        self.over |= stream == self.stream;
    }

    /// All of it, once its status is known.
    pub(super) fn text(&self) -> Option<&[u8]> {
        (self.stream > 0).then_some(&self.text)
    }
}
