//! Looks for a text in a body that comes in pieces, of HTTP/1.1 and HTTP/2 alike.

use memchr::memmem::Finder;

/// What was seen so far of one body.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The end of what came before, one byte shorter than the text.
    tail: Vec<u8>,
    found: bool,
}

impl Search {
    /// The next piece.
    pub(crate) fn look(&mut self, text: &Finder<'_>, piece: &[u8]) {
        if self.found {
            return;
        }
        let keep = text.needle().len().saturating_sub(1);
        // What lies across the border, then the piece itself.
        let across = self.tail.len();
        self.tail.extend_from_slice(&piece[..piece.len().min(keep)]);
        self.found = text.find(&self.tail).is_some() || text.find(piece).is_some();
        if piece.len() >= keep {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - keep..]);
        } else {
            let over = (across + piece.len()).saturating_sub(keep);
            self.tail.drain(..over);
        }
    }

    /// Whether it was there.
    pub(crate) fn found(&self) -> bool {
        self.found
    }

    /// Another body begins; the memory is kept.
    pub(crate) fn clear(&mut self) {
        self.tail.clear();
        self.found = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_is_cut_and_only_where_it_is() {
        for (body, there) in [("say welcome twice", true), ("say welcom twice", false), ("welcome", true), ("", false)]
        {
            for size in 1..=body.len().max(1) {
                let (text, mut search) = (Finder::new("welcome"), Search::default());
                body.as_bytes().chunks(size).for_each(|piece| search.look(&text, piece));
                assert_eq!(search.found(), there, "{body:?} in pieces of {size}");
                search.clear();
                assert!(!search.found());
            }
        }
    }
}
