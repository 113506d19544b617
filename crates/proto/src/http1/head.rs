//! Heads of messages: where they end, and the framing of the following body (RFC 9112, section 6.3).

use super::HEAD_LIMIT;
use crate::Fault;

/// Maximum number of header lines.
pub(crate) const MAX_HEADERS: usize = 256;

/// Framing of a message's body, according to its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The head gives no length.
    Undeclared,
    /// The body has a known number of bytes.
    Length(u64),
    /// The body consists of chunks, each with its length.
    Chunked,
    /// The body has another transfer coding, and ends only when the connection is closed.
    OtherCoding,
}

/// Status, framing and persistence of the connection, from a response's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) framing: Framing,
    pub(super) keep_alive: bool,
}

/// Reason why a head cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadHead {
    Malformed(&'static str),
    Version,
    TooLarge,
}

impl From<BadHead> for Fault {
    fn from(bad: BadHead) -> Self {
        match bad {
            BadHead::Malformed(why) => Self::Malformed(why),
            BadHead::Version => Self::Malformed("the version is not HTTP/1.0 or HTTP/1.1"),
            BadHead::TooLarge => Self::Limit("the header exceeds 64 KiB or 256 lines"),
        }
    }
}

/// Bytes of an incomplete head. The buffer is usually empty and uses no memory.
#[derive(Default)]
pub(crate) struct HeadBuffer {
    bytes: Vec<u8>,
}

impl HeadBuffer {
    /// Looks for the end of the head. Returns `Some(used)` if the head is complete: its last `used` bytes are in
    /// `input`, and [`HeadBuffer::head`] returns the whole head. Returns `None` after storing all of `input`, if the
    /// head is still incomplete.
    pub(crate) fn collect(&mut self, input: &[u8]) -> Result<Option<usize>, BadHead> {
        if self.bytes.is_empty()
            && let Some(end) = find_end(input, 0)
        {
            return if end > HEAD_LIMIT { Err(BadHead::TooLarge) } else { Ok(Some(end)) };
        }
        let before = self.bytes.len();
        let room = HEAD_LIMIT + 1 - before.min(HEAD_LIMIT);
        self.bytes.extend_from_slice(&input[..input.len().min(room)]);
        match find_end(&self.bytes, before.saturating_sub(2)) {
            Some(end) => {
                self.bytes.truncate(end);
                Ok(Some(end - before))
            }
            None if self.bytes.len() > HEAD_LIMIT => Err(BadHead::TooLarge),
            None => Ok(None),
        }
    }

    /// Returns the whole head, after `collect` has returned `Some(used)` for `input`.
    pub(crate) fn head<'a>(&'a self, input: &'a [u8], used: usize) -> &'a [u8] {
        if self.bytes.is_empty() { &input[..used] } else { &self.bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the part of an incomplete head that has arrived.
    pub(super) fn partial(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        // An idle connection must not keep a large buffer only because a head once arrived in pieces.
        if self.bytes.capacity() > 2048 {
            self.bytes = Vec::new();
        }
    }
}

/// Returns the position after the empty line that ends a head. The search starts at the position `from`. The caller
/// must know that no head ends before `from`.
fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    let newline = |i: usize| bytes[i] == b'\n';
    (from..bytes.len()).find_map(|i| {
        let empty_line =
            |line_end: usize| newline(line_end) || (bytes[line_end] == b'\r' && line_end >= 1 && newline(line_end - 1));
        (newline(i) && i >= 1 && empty_line(i - 1)).then_some(i + 1)
    })
}

/// Parses a complete head of a response leniently, as a client may (intermediaries use the module `strict`).
pub(super) fn response(head: &[u8]) -> Result<ResponseHead, BadHead> {
    let mut lines = [const { httparse::EMPTY_HEADER }; MAX_HEADERS];
    let mut parsed = httparse::Response::new(&mut lines);
    // A client replaces the line end in a folded line by a space (RFC 9112, section 5.2). A client may also ignore
    // spaces before a colon.
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true).allow_spaces_after_header_name_in_responses(true);
    complete(config.parse_response(&mut parsed, head))?;
    let (Some(status), Some(minor)) = (parsed.code, parsed.version) else { return Err(BadHead::Malformed("head")) };
    let fields = fields(parsed.headers)?;
    Ok(ResponseHead { status, framing: fields.framing(), keep_alive: fields.keep_alive(minor) })
}

fn complete(status: httparse::Result<usize>) -> Result<(), BadHead> {
    match status {
        Ok(httparse::Status::Complete(_)) => Ok(()),
        Ok(httparse::Status::Partial) => Err(BadHead::Malformed("the head ends too early")),
        Err(httparse::Error::Version) => Err(BadHead::Version),
        Err(httparse::Error::TooManyHeaders) => Err(BadHead::TooLarge),
        Err(httparse::Error::Status) => Err(BadHead::Malformed("the status line")),
        Err(httparse::Error::Token) => Err(BadHead::Malformed("the request line")),
        Err(httparse::Error::NewLine) => Err(BadHead::Malformed("a line end")),
        Err(httparse::Error::HeaderName) => Err(BadHead::Malformed("a header name")),
        Err(httparse::Error::HeaderValue) => Err(BadHead::Malformed("a header value")),
    }
}

/// The headers on which the framing depends.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    coded: bool,
    chunked_last: bool,
    close: bool,
    keep: bool,
}

impl Fields {
    /// Determines the framing; a transfer coding takes precedence over a length.
    fn framing(&self) -> Framing {
        match (self.coded, self.chunked_last, self.length) {
            (true, true, _) => Framing::Chunked,
            (true, false, _) => Framing::OtherCoding,
            (false, _, Some(n)) => Framing::Length(n),
            (false, _, None) => Framing::Undeclared,
        }
    }

    fn keep_alive(&self, minor: u8) -> bool {
        !self.close && (minor > 0 || self.keep)
    }
}

fn fields(headers: &[httparse::Header<'_>]) -> Result<Fields, BadHead> {
    let mut fields = Fields::default();
    for header in headers {
        let name = header.name;
        // Lengths are compared first, because this code runs for every header of every head that is not cached.
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                for token in tokens(header.value) {
                    fields.close |= token.eq_ignore_ascii_case(b"close");
                    fields.keep |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                let n = length(header.value)?;
                if fields.length.is_some_and(|before| before != n) {
                    return Err(BadHead::Malformed("two different Content-Length"));
                }
                fields.length = Some(n);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                // `identity` means that there is no coding (RFC 2616, section 3.6).
                let is_coding = |token: &&[u8]| !token.eq_ignore_ascii_case(b"identity");
                if let Some(last) = tokens(header.value).filter(is_coding).last() {
                    (fields.coded, fields.chunked_last) = (true, last.eq_ignore_ascii_case(b"chunked"));
                }
            }
            _ => {}
        }
    }
    Ok(fields)
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(|t| !t.is_empty())
}

/// Parses Content-Length: a number, or a list that repeats one number.
fn length(value: &[u8]) -> Result<u64, BadHead> {
    let mut n = None;
    for token in tokens(value) {
        let digits = token.iter().all(u8::is_ascii_digit);
        let this = std::str::from_utf8(token).ok().filter(|_| digits).and_then(|t| t.parse::<u64>().ok());
        match (n, this) {
            (None, Some(v)) => n = Some(v),
            (Some(before), Some(v)) if before == v => {}
            _ => return Err(BadHead::Malformed("Content-Length is no number that a length can have")),
        }
    }
    n.ok_or(BadHead::Malformed("Content-Length is empty"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_at_any_split() {
        for head in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\nA: b\n\r\n"] {
            let all = [head.as_bytes(), b"rest"].concat();
            for cut in 0..head.len() {
                let mut buffer = HeadBuffer::default();
                let used = match buffer.collect(&all[..cut]).unwrap() {
                    Some(used) => used,
                    None => cut + buffer.collect(&all[cut..]).unwrap().unwrap(),
                };
                assert_eq!(used, head.len(), "cut at {cut}");
            }
        }
    }

    #[test]
    fn framing_follows_the_standard() {
        let parse = |headers: &str| response(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes());
        assert_eq!(parse("Content-Length: 5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(parse("Content-Length: 5, 5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(
            parse("Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n").unwrap().framing,
            Framing::Chunked
        );
        assert_eq!(parse("Transfer-Encoding: identity\r\nContent-Length: 5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(parse("Transfer-Encoding : identity\r\n").unwrap().framing, Framing::Undeclared);
        assert_eq!(parse("Transfer-Encoding:\r\n\tgzip,\r\n  chunked\r\n").unwrap().framing, Framing::Chunked);
        assert_eq!(parse("X: a\r\n b\r\nContent-Length:\r\n 5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(parse("Transfer-Encoding: gzip\r\n").unwrap().framing, Framing::OtherCoding);
        assert_eq!(parse("").unwrap().framing, Framing::Undeclared);
        assert!(parse("Content-Length: 5\r\nContent-Length: 6\r\n").is_err());
        assert!(parse("Content-Length: +5\r\n").is_err());
        assert!(parse("Content-Length: 99999999999999999999\r\n").is_err());
        assert!(!parse("Connection: foo, Close\r\n").unwrap().keep_alive);
    }

    #[test]
    fn an_endless_head_is_refused_at_the_limit() {
        let mut buffer = HeadBuffer::default();
        for _ in 0..HEAD_LIMIT / 1024 {
            assert_eq!(buffer.collect(&[b'a'; 1024]), Ok(None));
        }
        assert_eq!(buffer.collect(b"a"), Err(BadHead::TooLarge));
    }
}
