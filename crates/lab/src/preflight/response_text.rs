//! First bytes of an answer, cleaned for display. They are untrusted.

/// Maximum number of bytes kept from an answer.
const MAX_KEPT_BYTES: usize = 8 * 1024;
/// Maximum number of bytes shown from a body.
const MAX_BODY_BYTES: usize = 200;

/// Maximum number of bytes shown in hexadecimal: the header of a frame and some more.
const MAX_HEX_BYTES: usize = 16;

/// First bytes of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer(pub(super) Vec<u8>);

impl Answer {
    /// Adds bytes until the maximum is reached.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().take(MAX_KEPT_BYTES.saturating_sub(self.0.len())));
    }

    /// Returns the first line.
    pub(super) fn first_line(&self) -> String {
        let line = self.0.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
        printable(line, 80)
    }

    /// Describes the first bytes for an error: the first line if it is text, otherwise bytes in hexadecimal.
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

    /// Splits an HTTP answer into head and body, as far as they were kept.
    fn halves(&self) -> (&[u8], &[u8]) {
        let end = self.0.windows(4).position(|w| w == b"\r\n\r\n").map_or(self.0.len(), |at| at + 4);
        self.0.split_at(end)
    }

    /// Returns the target of a redirect.
    pub(super) fn redirect(&self) -> Option<String> {
        let head = String::from_utf8_lossy(self.halves().0).into_owned();
        let mut lines = head.lines();
        let redirects = lines.next()?.split_whitespace().nth(1)?.starts_with('3');
        let mut fields = lines.filter_map(|line| line.split_once(':'));
        let (_, to) = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case("location"))?;
        redirects.then(|| printable(to.trim().as_bytes(), MAX_BODY_BYTES))
    }

    /// Returns the beginning of the body. The length that begins a chunked body is left out.
    pub(super) fn body(&self) -> String {
        let (head, body) = self.halves();
        let chunked = String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked");
        let line = body.iter().position(|b| *b == b'\n').filter(|_| chunked).map_or(0, |at| at + 1);
        printable(&body[line..], MAX_BODY_BYTES)
    }
}

/// Returns the beginning of untrusted bytes in one line, with dots for unprintable characters.
fn printable(bytes: &[u8], most: usize) -> String {
    run::visible(String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).trim()).into_owned()
}
