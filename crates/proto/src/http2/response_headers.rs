//! Values from a response's headers in HTTP/2 and HTTP/3, and the check that these headers are allowed.

/// Headers of HTTP/1.1 about the connection, which HTTP/2 and HTTP/3 forbid (RFC 9113, section
/// 8.2.2).
const CONNECTION_HEADERS: [&[u8]; 5] =
    [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// Values from a response's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseHeaders {
    /// Status of the response; 0 for trailers.
    pub(crate) status: u16,
    /// Length of the response's body according to its headers, bytes.
    pub(crate) length: Option<u64>,
    /// gRPC status, if there is one.
    pub(crate) grpc: Option<u16>,
    /// True if compressed messages of a gRPC answer are compressed with gzip.
    pub(crate) is_gzip: bool,
    /// Reason why the response is malformed, from its first invalid header (sections 8.1.1, 8.2 and 8.3).
    pub(crate) wrong: Option<&'static str>,
    /// True after a header that is no pseudo-header.
    begun: bool,
}

impl ResponseHeaders {
    /// Reads one header.
    pub(crate) fn header(&mut self, name: &[u8], value: &[u8]) {
        self.wrong = self.wrong.or_else(|| self.forbidden(name, value));
        self.begun |= !name.starts_with(b":");
        match name {
            b":status" if value.len() == 3 => self.status = number(value).unwrap_or_default() as u16,
            b"content-length" => {
                let length = number(value);
                if length.is_none() || self.length.is_some() && self.length != length {
                    self.wrong = self.wrong.or(Some("a response whose content-length is not a single number"));
                }
                self.length = length;
            }
            b"grpc-encoding" => self.is_gzip = value == b"gzip",
            b"grpc-status" if (1..=5).contains(&value.len()) => {
                self.grpc = number(value).and_then(|code| u16::try_from(code).ok());
            }
            _ => {}
        }
    }

    /// Returns an error text for a header whose name, position or bytes are not allowed; `None` for an allowed header.
    fn forbidden(&self, name: &[u8], value: &[u8]) -> Option<&'static str> {
        match name {
            b":status" if self.begun => Some("a response with a :status behind other headers"),
            b":status" if self.status != 0 => Some("a response with more than one :status"),
            b":status" => None,
            [b':', ..] => Some("a response with a pseudo-header other than :status"),
            _ if name.is_empty()
                || name.iter().any(|b| b.is_ascii_uppercase() || !b.is_ascii_graphic() || *b == b':') =>
            {
                Some("a response with a header's name that has capitals or other bytes that no name has")
            }
            _ if CONNECTION_HEADERS.contains(&name) => {
                Some("a response with a header of HTTP/1.1's connections (connection, transfer-encoding, …)")
            }
            _ if value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n')) => {
                Some("a response with a CR, LF or NUL byte in a header")
            }
            _ => None,
        }
    }
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}
