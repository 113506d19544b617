//! Search for a text in a body that arrives in pieces, for HTTP/1.1 and HTTP/2.

use memchr::memmem::Finder;

/// State of the search in one body.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Last bytes of the body so far, one byte fewer than the searched text has. If the body so far is shorter than the
    /// searched text, all of it is stored.
    tail: Vec<u8>,
    found: bool,
}

impl Search {
    /// Searches the next piece of the body.
    pub(crate) fn look(&mut self, text: &Finder<'_>, piece: &[u8]) {
        if self.found {
            return;
        }
        let keep = text.needle().len().saturating_sub(1);
        // The text may extend from the earlier pieces into this piece, so the border between them is searched, too.
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

    /// Returns true if the text was found.
    pub(crate) fn found(&self) -> bool {
        self.found
    }

    /// Prepares the search for another body, without freeing the memory.
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
