//! Headers of a request, and the check that these headers are allowed (RFC 9113, section 8).

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 16 * 1024;

/// Headers of the request that is being read. The buffers are used again for the next request.
#[derive(Debug, Default)]
pub(crate) struct RequestHeaders {
    pub(crate) method: Vec<u8>,
    pub(crate) path: Vec<u8>,
    /// Length of the request's body according to its headers, bytes.
    pub(crate) length: Option<u64>,
    scheme: bool,
    authority: bool,
    /// True if an ordinary header (not a pseudo-header) has arrived. No pseudo-header may follow an ordinary header.
    fields: bool,
    wrong: bool,
}

impl RequestHeaders {
    pub(crate) fn begin(&mut self) {
        self.method.clear();
        self.path.clear();
        (self.length, self.scheme, self.authority, self.fields, self.wrong) = (None, false, false, false, false);
    }

    /// Reads one header of the request.
    pub(crate) fn header(&mut self, name: &[u8], value: &[u8]) {
        if name.first() == Some(&b':') {
            let twice = match name {
                b":method" => !take(&mut self.method, value),
                b":path" => value.len() > MAX_PATH || !take(&mut self.path, value),
                b":scheme" => std::mem::replace(&mut self.scheme, true),
                b":authority" => std::mem::replace(&mut self.authority, true),
                _ => true,
            };
            self.wrong |= twice || self.fields;
            return;
        }
        self.fields = true;
        self.wrong |= name.is_empty() || name.iter().any(|b| b.is_ascii_uppercase() || *b <= b' ' || *b >= 0x7f);
        self.wrong |= match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => true,
            b"te" => value != b"trailers",
            b"content-length" => {
                self.length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.length.is_none()
            }
            _ => false,
        };
    }

    /// Returns true if the request is valid. Method, scheme and path must occur exactly once, and no pseudo-header may
    /// follow an ordinary header.
    pub(crate) fn is_right(&self) -> bool {
        let path = match &*self.method {
            b"OPTIONS" => self.path.starts_with(b"/") || self.path == b"*",
            b"CONNECT" => false,
            _ => self.path.starts_with(b"/"),
        };
        !self.wrong && !self.method.is_empty() && self.scheme && path
    }

    /// Returns true if the headers may be trailers: none of them is forbidden, and none is a pseudo-header.
    pub(crate) fn can_be_trailers(&self) -> bool {
        let pseudo = self.scheme || self.authority || !self.method.is_empty() || !self.path.is_empty();
        !self.wrong && !pseudo
    }
}

/// Appends `value` to `to`, and returns true if `to` was empty before.
fn take(to: &mut Vec<u8>, value: &[u8]) -> bool {
    let first = to.is_empty();
    to.extend_from_slice(value);
    first
}
