//! Responses of a server: a body with its prepared heads. The heads of a response are built at most once a second,
//! because only their Date field changes.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::http_date;

/// Maximum size, in bytes, of a body that is stored directly after its head. A response with such a body is produced by
/// a single copy of bytes.
const MAX_INLINE_BODY: usize = 16 * 1024;

/// A response of a server: its status, header fields and body.
pub struct Page {
    status: u16,
    fields: String,
    body: Vec<u8>,
    ready: Mutex<Arc<Ready>>,
    /// Head and trailers, encoded for HTTP/2.
    coded: OnceLock<[Vec<u8>; 2]>,
    /// Status of gRPC; `None` for other answers.
    grpc: Option<u16>,
    /// Function that answers each message of a gRPC call; `None` if the answer is always the body.
    by_message: Option<MessageAnswer>,
}

/// Function that makes the answer to a message of gRPC.
type MessageAnswer = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Header lines of each gRPC answer.
const GRPC_FIELDS: &str = "Content-Type: application/grpc\r\n";

/// The heads of a page during one second, one for each variant of [`Ending`].
pub(super) struct Ready {
    pub(super) second: u64,
    forms: [Form; 3],
}

/// A head, followed by the body if the body is short.
pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    pub(super) head_len: usize,
}

/// State of the connection after a response. The response's head must tell the client whether the connection stays
/// open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// HTTP/1.1, and the connection stays open: the head needs no Connection header.
    Stays = 0,
    /// The connection will be closed after the answer.
    Closes = 1,
    /// HTTP/1.0, and the connection stays open: the head needs a Connection header.
    StaysOld = 2,
}

impl Page {
    /// Creates a page, which is the content of a response. `fields` are additional header lines, each with its line
    /// end. If a response with the status has no content, the body is dropped.
    pub fn new(status: u16, content_type: &str, fields: &str, body: Vec<u8>) -> Arc<Self> {
        let body = if has_content(status) { body } else { Vec::new() };
        let fields = format!("Content-Type: {content_type}\r\n{fields}");
        let ready = Mutex::new(Arc::new(Ready { second: u64::MAX, forms: [(); 3].map(|()| Form::EMPTY) }));
        Arc::new(Self { status, fields, body, ready, coded: OnceLock::new(), grpc: None, by_message: None })
    }

    /// Creates a gRPC answer. With status 0, the body is `message`, which must begin with its gRPC prefix. With any
    /// gRPC status other than 0, there is no body.
    pub fn grpc(status: u16, message: Vec<u8>) -> Arc<Self> {
        let ready = Mutex::new(Arc::new(Ready { second: u64::MAX, forms: [(); 3].map(|()| Form::EMPTY) }));
        let body = if status == 0 { message } else { Vec::new() };
        let fields = GRPC_FIELDS.into();
        let (grpc, by_message) = (Some(status), None);
        Arc::new(Self { status: 200, fields, body, ready, coded: OnceLock::new(), grpc, by_message })
    }

    /// Creates the answer to gRPC calls in which client and server send messages alternately. The function `answer`
    /// makes the answer to each message of the client. Neither the argument nor the result of `answer` includes the
    /// gRPC prefix of a message.
    pub fn grpc_by_message(answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Arc<Self> {
        let ready = Mutex::new(Arc::new(Ready { second: u64::MAX, forms: [(); 3].map(|()| Form::EMPTY) }));
        let (fields, by_message) = (GRPC_FIELDS.into(), Some(Box::new(answer) as MessageAnswer));
        let (body, grpc) = (Vec::new(), Some(0));
        Arc::new(Self { status: 200, fields, body, ready, coded: OnceLock::new(), grpc, by_message })
    }

    /// Returns true if this page answers each message of a gRPC call.
    pub(crate) const fn answers_messages(&self) -> bool {
        self.by_message.is_some()
    }

    /// Returns the answer to a message; `None` if this page does not answer messages.
    pub(crate) fn answer_to(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.by_message.as_ref().map(|answer| answer(message))
    }

    /// Returns the status, the header lines, and the gRPC status if there is one.
    pub(crate) fn parts(&self) -> (u16, &str, Option<u16>) {
        (self.status, &self.fields, self.grpc)
    }

    /// Returns head and trailers encoded for HTTP/2. The function `code` encodes the head and the trailers, and is
    /// called only once per page.
    pub(crate) fn coded(&self, code: impl FnOnce(&Self) -> [Vec<u8>; 2]) -> &[Vec<u8>; 2] {
        self.coded.get_or_init(|| code(self))
    }

    /// Creates a text page with a status and the status's reason phrase. For a status below 200, the body is empty.
    pub fn plain(status: u16, fields: &str) -> Arc<Self> {
        let body = if status < 200 { String::new() } else { format!("{status} {}\n", reason(status)) };
        Self::new(status, "text/plain", fields, body.into_bytes())
    }

    /// Returns the length of the body as text, for the header Content-Length. Returns `None` if the response must not
    /// have this header.
    pub(crate) fn content_length(&self) -> Option<String> {
        has_content(self.status).then(|| self.body.len().to_string())
    }

    /// Returns the body of the page.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the response heads with the date of second `now_s`. Builds new heads if the stored heads have another
    /// date.
    pub(super) fn ready(&self, now_s: u64) -> Arc<Ready> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.second != now_s {
            *ready = Arc::new(self.build(now_s));
        }
        ready.clone()
    }

    fn build(&self, now_s: u64) -> Ready {
        let date = http_date(now_s);
        let form = |connection: &str| {
            let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
            if self.status >= 200 {
                let _ = write!(head, "Server: loadline\r\nDate: {date}\r\n");
                if let Some(length) = self.content_length() {
                    let _ = write!(head, "Content-Length: {length}\r\n");
                }
                let _ = write!(head, "{}{connection}", self.fields);
            }
            head.push_str("\r\n");
            let mut bytes = head.into_bytes();
            let head_len = bytes.len();
            if self.body.len() <= MAX_INLINE_BODY {
                bytes.extend_from_slice(&self.body);
            }
            Form { bytes, head_len }
        };
        Ready { second: now_s, forms: [form(""), form("Connection: close\r\n"), form("Connection: keep-alive\r\n")] }
    }
}

impl Ready {
    pub(super) fn form(&self, ending: Ending) -> &Form {
        &self.forms[ending as usize]
    }
}

impl Form {
    const EMPTY: Self = Self { bytes: Vec::new(), head_len: 0 };
}

/// Returns true if a response with the given status has content. Without content, a response ends with its head (RFC
/// 9112, section 6.3).
const fn has_content(status: u16) -> bool {
    !matches!(status, 100..=199 | 204 | 304)
}

/// Returns the reason phrase of a status.
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

/// Returns the media type of a file, from the extension of its name.
pub fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ext)| ext) {
        "html" | "htm" => "text/html",
        "txt" | "md" => "text/plain",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_without_content_ends_with_its_head() {
        for status in [204, 304] {
            let page = Page::new(status, "text/plain", "", b"body".to_vec());
            let ready = page.ready(0);
            let form = ready.form(Ending::Stays);
            let text = String::from_utf8_lossy(&form.bytes);
            assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-Length"), "{text}");
            assert_eq!((form.head_len, page.body()), (form.bytes.len(), &[][..]));
        }
        let page = Page::new(200, "text/plain", "", Vec::new());
        assert!(String::from_utf8_lossy(&page.ready(0).form(Ending::Stays).bytes).contains("Content-Length: 0\r\n"));
    }
}
