//! Values that a connection stores from answers: captured values and cookies, for HTTP/1.1 and HTTP/2. A connection
//! that stores values has only one request in flight at a time, because the next request may use values from the
//! response.

use crate::ProtoError;
use crate::cookies::CookieJar;
use crate::template::Source;

/// Maximum number of bytes of a response's body that are searched for a value.
const MAX_BODY: usize = 1 << 20;

/// A value to capture: the index of its name in [`Memory::captured`], and its location in the response.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    at: usize,
    from: CaptureSource,
}

#[derive(Clone, Debug)]
enum CaptureSource {
    /// A JSON pointer (RFC 6901) to a value in the body.
    Json(String),
    Header(String),
}

/// Parses the captures of a request: the names of the values, and their locations in the response.
pub(crate) fn captures(all: &[(String, String)], source: &Source) -> Result<Vec<Capture>, ProtoError> {
    let one = |(name, from): &(String, String)| {
        let wrong = |advice| ProtoError::Invalid { what: "capture", value: format!("{name} = {from}"), advice };
        let at = source.captured.iter().position(|known| known == name);
        let at = at.ok_or_else(|| wrong("name it once"))?;
        let from = match from.split_once(':') {
            Some(("json", pointer)) if pointer.is_empty() || pointer.starts_with('/') => {
                CaptureSource::Json(pointer.into())
            }
            Some(("header", name)) if !name.trim().is_empty() => CaptureSource::Header(name.trim().into()),
            _ => return Err(wrong("write json:/pointer/to/value or header:Name")),
        };
        Ok(Capture { at, from })
    };
    all.iter().map(one).collect()
}

/// Values that are stored for one connection.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) captured: Vec<Vec<u8>>,
    pub(crate) cookies: CookieJar,
    /// Body of the current response; empty if no value is captured from the response's body.
    body: Vec<u8>,
    /// Indexes in `captured` of the values that the response's head contains. Each index is there only once.
    found: Vec<usize>,
}

impl Memory {
    /// Creates the storage, with an empty value for each captured name. If `cookies` is true, the cookies in responses
    /// are stored. `is_secure` is true if the connection uses TLS.
    pub(crate) fn new(source: &Source, cookies: bool, is_secure: bool) -> Self {
        let cookies = if cookies { CookieJar::new(&source.host, is_secure) } else { CookieJar::closed() };
        Self { captured: vec![Vec::new(); source.captured.len()], cookies, ..Self::default() }
    }

    /// Forgets all values, without freeing the memory.
    pub(crate) fn clear(&mut self) {
        self.captured.iter_mut().for_each(Vec::clear);
        self.cookies.clear();
        self.next();
    }

    /// Prepares the storage for the next response.
    pub(crate) fn next(&mut self) {
        self.body.clear();
        self.found.clear();
    }

    /// Stores the cookies and the values to capture from the head of an HTTP/1.1 response.
    pub(crate) fn head(&mut self, head: &[u8], captures: &[Capture]) {
        for line in head.split(|byte| *byte == b'\n').skip(1) {
            if let Some(colon) = line.iter().position(|byte| *byte == b':') {
                self.header(&line[..colon], line[colon + 1..].trim_ascii(), captures);
            }
        }
    }

    /// Stores a response's header if it is a cookie or a value to capture.
    pub(crate) fn header(&mut self, name: &[u8], value: &[u8], captures: &[Capture]) {
        if name.eq_ignore_ascii_case(b"set-cookie") {
            self.cookies.store(value);
        }
        for capture in captures {
            if let CaptureSource::Header(wanted) = &capture.from
                && name.eq_ignore_ascii_case(wanted.as_bytes())
                && let Some(slot) = self.captured.get_mut(capture.at)
            {
                if !self.found.contains(&capture.at) {
                    self.found.push(capture.at);
                }
                keep(slot, value);
            }
        }
    }

    /// Stores a piece of a response's body if a value is captured from the body.
    pub(crate) fn body(&mut self, piece: &[u8], captures: &[Capture]) {
        let wanted = captures.iter().any(|capture| matches!(capture.from, CaptureSource::Json(_)));
        if wanted && self.body.len() + piece.len() <= MAX_BODY {
            self.body.extend_from_slice(piece);
        }
    }

    /// Called at the end of a response. Returns true if all values to capture were found in the response.
    pub(crate) fn complete(&mut self, captures: &[Capture]) -> bool {
        let headers = captures.iter().filter(|capture| matches!(capture.from, CaptureSource::Header(_))).count();
        let mut all = self.found.len() >= headers;
        if headers < captures.len() {
            let value = serde_json::from_slice::<serde_json::Value>(&self.body).unwrap_or_default();
            for capture in captures {
                let CaptureSource::Json(pointer) = &capture.from else { continue };
                match value.pointer(pointer) {
                    Some(serde_json::Value::String(text)) => keep(&mut self.captured[capture.at], text.as_bytes()),
                    Some(serde_json::Value::Null) | None => all = false,
                    Some(other) => keep(&mut self.captured[capture.at], other.to_string().as_bytes()),
                }
            }
        }
        self.next();
        all
    }
}

/// Replaces a stored value. Removes line ends and zero bytes, so that a server cannot add headers to later requests.
fn keep(slot: &mut Vec<u8>, value: &[u8]) {
    slot.clear();
    slot.extend(value.iter().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
}

#[cfg(test)]
mod tests {
    use run::{RequestPlan, RequestSet};

    use super::*;

    #[test]
    fn a_header_that_comes_twice_does_not_stand_for_another() {
        let from = [("a", "header:X-A"), ("b", "header:X-B")].map(|(name, from)| (name.to_owned(), from.to_owned()));
        let request = RequestPlan { capture: from.clone().into(), ..RequestPlan::default() };
        let source = Source::new(&RequestSet { requests: vec![request], ..RequestSet::default() });
        let captures = captures(&from, &source).unwrap();
        let mut memory = Memory::new(&source, false, false);
        memory.head(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\n", &captures);
        assert!(!memory.complete(&captures));
        memory.head(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B: 2\r\n", &captures);
        assert!(memory.complete(&captures));
    }
}
