//! First bytes of an answer, made safe for display. The bytes of an answer are untrusted.

use proto::http1::Chunked;

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
        let line = self.first_line();
        let redirects = line.split_whitespace().nth(1)?.starts_with('3');
        let to = self.header("location")?;
        redirects.then(|| printable(to.as_bytes(), MAX_BODY_BYTES))
    }

    /// Returns true if the answer is not compressed, and the server says that its answers depend on the client's
    /// `Accept-Encoding` (RFC 9110, section 12.5.5). A client that accepts compression may then get another answer.
    pub(super) fn may_be_compressed_for_others(&self) -> bool {
        let varies = self
            .header("vary")
            .is_some_and(|vary| vary.split(',').any(|name| name.trim().eq_ignore_ascii_case("accept-encoding")));
        varies && self.header("content-encoding").is_none_or(|coding| coding.eq_ignore_ascii_case("identity"))
    }

    /// Returns the values of a header, separated by commas; `None` if the answer does not have the header.
    fn header(&self, wanted: &str) -> Option<String> {
        let head = String::from_utf8_lossy(self.halves().0).into_owned();
        let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let values = fields.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim());
        values.map(str::to_owned).reduce(|all, value| format!("{all}, {value}"))
    }

    /// Returns the beginning of the body. Leaves out the chunk sizes of a chunked body.
    pub(super) fn body(&self) -> String {
        let (head, body) = self.halves();
        match is_chunked(head) {
            true => printable(&chunk_data(body), MAX_BODY_BYTES),
            false => printable(body, MAX_BODY_BYTES),
        }
    }
}

fn is_chunked(head: &[u8]) -> bool {
    let is_coding = |name: &str| name.trim().eq_ignore_ascii_case("transfer-encoding");
    let head = String::from_utf8_lossy(head);
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.any(|(name, value)| is_coding(name) && value.to_ascii_lowercase().contains("chunked"))
}

/// Returns the first bytes of data in a chunked body, at most [`MAX_BODY_BYTES`]. The body may be incomplete.
fn chunk_data(body: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    // After an error in the chunks, only the data before the error is returned. The load reports the error.
    let _ = Chunked::lenient().read(body, |piece, _| {
        data.extend(piece.iter().take(MAX_BODY_BYTES.saturating_sub(data.len())));
    });
    data
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
    fn an_answer_may_be_compressed_for_others_if_it_varies_and_is_plain() {
        let of = |fields: &str| {
            Answer(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nvary: accept-encoding").into_bytes())
                .may_be_compressed_for_others()
        };
        assert!(of("Vary: Accept-Encoding") && of("vary:Origin\r\nvary: Cookie, accept-encoding"));
        assert!(!of("Vary: Accept-Encoding\r\nContent-Encoding: gzip") && !of("Vary: Accept") && !of("Server: x"));
    }

    #[test]
    fn the_text_of_a_chunked_body_has_no_sizes_of_chunks() {
        let of = |text: &str| Answer(text.as_bytes().to_vec()).body();
        assert_eq!(of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), "hello");
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding:Chunked\r\n\r\n";
        assert_eq!(of(&format!("{chunked}3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n")), "hello");
        for (broken, known) in [("", ""), ("zz\r\n", ""), ("5\r\nhe", "he"), ("ffffffffffffffff\r\n", "")] {
            assert_eq!(of(&format!("{chunked}{broken}")), known, "{broken:?}");
        }
    }
}
