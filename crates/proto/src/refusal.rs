//! Stores the text of an answer with an unexpected status (a refusal): the beginning of the answer's body.

/// Maximum number of bytes of a body that are stored.
const MAX_WORDS: usize = 200;

/// Beginning of the body of the last answer with an unexpected status.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    /// True if the current answer has an unexpected status.
    collects: bool,
    body: Vec<u8>,
}

impl Refusal {
    /// Prepares for the next answer, whose body is stored if the answer is a refusal. The stored text of an earlier
    /// refusal is kept until another refusal begins.
    pub(crate) fn begin(&mut self, is_refusal: bool) {
        self.collects = is_refusal;
        if is_refusal {
            self.body.clear();
        }
    }

    /// Returns true if more bytes of the current answer's body must be stored.
    pub(crate) fn collects(&self) -> bool {
        self.collects && self.body.len() < MAX_WORDS
    }

    /// Stores a piece of the current answer's body, if the answer is a refusal.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        if self.collects() {
            self.body.extend(piece.iter().take(MAX_WORDS - self.body.len()));
        }
    }

    /// Returns the text of the stored body in quotation marks; `None` if the body is empty or is not text.
    pub(crate) fn words(&self) -> Option<String> {
        let text = match std::str::from_utf8(&self.body) {
            Ok(text) => text,
            // The last character may be incomplete, because the number of stored bytes is limited.
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&self.body[..error.valid_up_to()]).ok()?,
            Err(_) => return None,
        };
        let text = text.trim();
        (!text.is_empty()).then(|| format!("{:?}", run::visible(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_bounded_text() {
        let mut refusal = Refusal::default();
        refusal.add(b"of a good answer");
        assert_eq!(refusal.words(), None);
        refusal.begin(true);
        refusal.add(b"database is ");
        refusal.add(b"down\n");
        refusal.begin(false);
        refusal.add(b"good");
        assert_eq!(refusal.words().unwrap(), "\"database is down\"");
        refusal.begin(true);
        refusal.add("ä".repeat(300).as_bytes());
        assert!(refusal.words().unwrap().chars().count() <= MAX_WORDS && !refusal.collects());
        refusal.begin(true);
        refusal.add(b"\x1f\x8b\x08\xff\xfe");
        assert_eq!(refusal.words(), None, "compressed");
    }
}
