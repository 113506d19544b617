//! What the first bytes of an answer say, to show it to a person. They are a stranger's.

/// Bytes of an answer that are kept, to show what it says.
const KEPT: usize = 8 * 1024;
/// Bytes of a body that are shown.
const BODY_SHOWN: usize = 200;

/// The first bytes of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer(pub(super) Vec<u8>);

impl Answer {
    /// More of it came.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().take(KEPT.saturating_sub(self.0.len())));
    }

    /// Its first line.
    pub(super) fn first_line(&self) -> String {
        let line = self.0.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
        printable(line, 80)
    }

    /// Head and body of an HTTP answer, as far as they were kept.
    fn halves(&self) -> (&[u8], &[u8]) {
        let end = self.0.windows(4).position(|w| w == b"\r\n\r\n").map_or(self.0.len(), |at| at + 4);
        self.0.split_at(end)
    }

    /// The target of a redirect.
    pub(super) fn redirect(&self) -> Option<String> {
        let head = String::from_utf8_lossy(self.halves().0).into_owned();
        let mut lines = head.lines();
        let redirects = lines.next()?.split_whitespace().nth(1)?.starts_with('3');
        let mut fields = lines.filter_map(|line| line.split_once(':'));
        let (_, to) = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case("location"))?;
        redirects.then(|| printable(to.trim().as_bytes(), BODY_SHOWN))
    }

    /// The beginning of the body. A chunked one begins with a length, which is left out.
    pub(super) fn body(&self) -> String {
        let (head, body) = self.halves();
        let chunked = String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked");
        let line = body.iter().position(|b| *b == b'\n').filter(|_| chunked).map_or(0, |at| at + 1);
        printable(&body[line..], BODY_SHOWN)
    }
}

/// The beginning of what a stranger sent, in one line: dots for what is no printable character.
fn printable(bytes: &[u8], most: usize) -> String {
    run::visible(String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).trim()).into_owned()
}
