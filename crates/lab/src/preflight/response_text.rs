//! First bytes of an answer, made safe for display. The bytes of an answer are untrusted.

/// Maximum number of bytes of an answer that [`Answer`] keeps.
const MAX_KEPT_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of a body that are shown.
const MAX_BODY_BYTES: usize = 200;

/// Maximum number of bytes that are shown in hexadecimal: a frame's header and a few more bytes.
const MAX_HEX_BYTES: usize = 16;

/// First bytes of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer(pub(super) Vec<u8>);

impl Answer {
    /// Adds bytes until [`MAX_KEPT_BYTES`] bytes are kept.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().take(MAX_KEPT_BYTES.saturating_sub(self.0.len())));
    }

    /// Returns the first line in printable form.
    pub(super) fn first_line(&self) -> String {
        let line = self.0.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
        printable(line, 80)
    }

    /// Describes the first bytes for an error message: the first line if it is text, otherwise the bytes in
    /// hexadecimal.
    pub(super) fn beginning(&self) -> String {
        let line = self.0.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
        let is_text =
            std::str::from_utf8(&line[..line.len().min(80)]).is_ok_and(|text| !text.contains(char::is_control));
        if is_text && !line.is_empty() {
            return format!("{:?}", self.first_line());
        }
        let bytes: Vec<String> = self.0.iter().take(MAX_HEX_BYTES).map(|byte| format!("{byte:02x}")).collect();
        format!("with the bytes {}", bytes.join(" "))
    }

    /// Splits an HTTP answer into head and body, as far as their bytes were kept.
    fn halves(&self) -> (&[u8], &[u8]) {
        let end = self.0.windows(4).position(|w| w == b"\r\n\r\n").map_or(self.0.len(), |at| at + 4);
        self.0.split_at(end)
    }

    /// Returns the bytes of the body that were kept.
    pub(super) fn kept_body(&self) -> &[u8] {
        self.halves().1
    }

    /// Returns the target of a redirect; `None` if the answer is no redirect.
    pub(super) fn redirect(&self) -> Option<String> {
        let head = String::from_utf8_lossy(self.halves().0).into_owned();
        let mut lines = head.lines();
        let redirects = lines.next()?.split_whitespace().nth(1)?.starts_with('3');
        let mut fields = lines.filter_map(|line| line.split_once(':'));
        let (_, to) = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case("location"))?;
        redirects.then(|| printable(to.trim().as_bytes(), MAX_BODY_BYTES))
    }

    /// Returns the length of an HTTP/1.1 body. `answer_bytes` is the length of the whole answer. Returns `None` if the
    /// answer is not HTTP/1.1, or if a chunked body was not kept completely.
    pub(super) fn body_bytes(&self, answer_bytes: u64) -> Option<u64> {
        let (head, body) = self.halves();
        if !head.starts_with(b"HTTP/1.") || !head.ends_with(b"\r\n\r\n") {
            return None;
        }
        if is_chunked(head) {
            let whole = self.0.len() as u64 == answer_bytes;
            return whole.then(|| chunks_bytes(body)).flatten();
        }
        answer_bytes.checked_sub(head.len() as u64)
    }

    /// Returns the beginning of the body. Leaves out the chunk length at the start of a chunked body.
    pub(super) fn body(&self) -> String {
        let (head, body) = self.halves();
        let line = body.iter().position(|b| *b == b'\n').filter(|_| is_chunked(head)).map_or(0, |at| at + 1);
        printable(&body[line..], MAX_BODY_BYTES)
    }
}

fn is_chunked(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked")
}

/// Returns the sum of the lengths of all chunks of a body (RFC 9112, section 7.1); `None` if a chunk is incomplete or
/// invalid.
fn chunks_bytes(mut body: &[u8]) -> Option<u64> {
    let mut sum = 0;
    loop {
        let end = body.windows(2).position(|w| w == b"\r\n")?;
        let size = std::str::from_utf8(&body[..end]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(sum);
        }
        sum += size as u64;
        body = body.get(end.checked_add(size)?.checked_add(4)?..)?;
    }
}

/// Returns the beginning of untrusted bytes as one line. Control characters become spaces, and invisible characters
/// become escapes.
fn printable(bytes: &[u8], most: usize) -> String {
    run::visible(String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).trim()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_body_does_not_count_its_frame() {
        let of = |text: &str| Answer(text.as_bytes().to_vec()).body_bytes(text.len() as u64);
        assert_eq!(of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), Some(5));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(of(&format!("{chunked}3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n")), Some(5));
        for broken in ["", "zz\r\n", "5\r\nhe", "ffffffffffffffff\r\n"] {
            assert_eq!(of(&format!("{chunked}{broken}")), None, "{broken:?}");
        }
        assert_eq!(of("+PONG\r\n\r\n"), None);
        assert_eq!(Answer(chunked.as_bytes().to_vec()).body_bytes(1 << 20), None);
    }
}
