//! The first answer of a connection, for display. The answer is shown in the form of an HTTP/1.1 response: status line,
//! target of a redirect, and the beginning of the body.

/// Default of [`FirstAnswer::max_bytes`].
const MAX_BYTES: usize = 1024;
/// Headers that are stored: the target of a redirect, and the headers that tell about compression.
const STORED_HEADERS: [&[u8]; 3] = [b"location", b"vary", b"content-encoding"];
/// Maximum number of stored bytes of all stored headers.
const MAX_HEADER_BYTES: usize = 1024;

/// The first answer of a connection; see the module documentation.
#[derive(Debug)]
pub(crate) struct FirstAnswer {
    /// Maximum number of stored bytes of the first answer.
    pub(crate) max_bytes: usize,
    text: Vec<u8>,
    /// The stored headers of the current header block, one per line.
    headers: Vec<u8>,
    /// The stream of the answer; 0 before its headers arrive.
    stream: u32,
    over: bool,
}

impl Default for FirstAnswer {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, text: Vec::new(), headers: Vec::new(), stream: 0, over: false }
    }
}

impl FirstAnswer {
    /// Stores a header that is one of [`STORED_HEADERS`]. Cuts a value that is too long. The first header of a block is
    /// `:status`, so it drops the headers of an earlier block, such as those of an informational response (status 1xx).
    #[inline]
    pub(crate) fn header(&mut self, name: &[u8], value: &[u8]) {
        if self.over {
            return;
        }
        if name == b":status" {
            self.headers.clear();
        } else if STORED_HEADERS.contains(&name) {
            let room = MAX_HEADER_BYTES.saturating_sub(self.headers.len());
            self.headers.extend_from_slice(&[name, b": "].concat());
            self.headers.extend_from_slice(&value[..value.len().min(room)]);
            self.headers.extend_from_slice(b"\r\n");
        }
    }

    /// Stores the version of HTTP, the status and some headers of the connection's first response.
    #[inline]
    pub(crate) fn begins(&mut self, version: &str, stream: u32, status: u16) {
        if self.over || self.stream > 0 {
            return;
        }
        self.stream = stream;
        self.text.extend_from_slice(format!("{version} {status}\r\n").as_bytes());
        self.text.append(&mut self.headers);
        self.text.extend_from_slice(b"\r\n");
    }

    /// Stores a piece of a response's body, if this is the first response.
    #[inline]
    pub(crate) fn body(&mut self, stream: u32, bytes: &[u8]) {
        if !self.over && stream == self.stream {
            let room = self.max_bytes.saturating_sub(self.text.len());
            self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Completes the stored text if the first response arrived on the stream that has just ended.
    #[inline]
    pub(crate) const fn ends(&mut self, stream: u32) {
        self.over |= stream == self.stream;
    }

    /// Drops the stored answer. The next answer is then stored as if it were the first one.
    pub(crate) fn restart(&mut self) {
        *self = Self { max_bytes: self.max_bytes, ..Self::default() };
    }

    /// Returns the whole text; `None` before the status is known.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        (self.stream > 0).then_some(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_headers_of_the_final_response_are_stored() {
        let mut first = FirstAnswer::default();
        let interim = [(":status", "103"), ("vary", "origin")];
        for (name, value) in
            interim.into_iter().chain([(":status", "200"), ("server", "x"), ("vary", "accept-encoding")])
        {
            first.header(name.as_bytes(), value.as_bytes());
        }
        first.begins("HTTP/2", 1, 200);
        assert_eq!(first.text(), Some(&b"HTTP/2 200\r\nvary: accept-encoding\r\n\r\n"[..]));
    }
}
