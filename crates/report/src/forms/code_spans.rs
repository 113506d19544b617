//! Finds commands and names between backticks in sentences.

/// Part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text outside of backticks.
    Words(&'a str),
    /// Text between two backticks.
    Code(&'a str),
}

/// Splits a text into words and code. A backtick counts as part of the words if it has no partner or is next to another
/// backtick.
pub(super) fn code_spans(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((begin, end)) = next_span(rest) {
        pieces.push(Piece::Words(&rest[..begin]));
        pieces.push(Piece::Code(&rest[begin + 1..end]));
        rest = &rest[end + 1..];
    }
    pieces.push(Piece::Words(rest));
    pieces.retain(|piece| *piece != Piece::Words(""));
    pieces
}

/// Returns the byte positions of the next two single backticks; the text between them is code.
fn next_span(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let single = |at: &usize| {
        let is_mark = |at: usize| bytes.get(at) == Some(&b'`');
        is_mark(*at) && !is_mark(at + 1) && !at.checked_sub(1).is_some_and(is_mark)
    };
    let mut marks = (0..bytes.len()).filter(single);
    Some((marks.next()?, marks.next()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_stands_between_two_single_marks() {
        use Piece::{Code, Words};
        let text = "run `loadline find URL`, not `a|b`.";
        let found = [Words("run "), Code("loadline find URL"), Words(", not "), Code("a|b"), Words(".")];
        assert_eq!(code_spans(text), found);
        for plain in ["it's 5` long", "``", "a ``b`` c", "`", "no code"] {
            assert_eq!(code_spans(plain), [Words(plain)], "{plain}");
        }
        assert!(code_spans("").is_empty());
    }

    proptest! {
        #[test]
        fn nothing_but_marks_is_lost(text in "[`a é]{0,12}") {
            let all: String = code_spans(&text).into_iter().map(|piece| match piece {
                Piece::Words(words) => words.to_owned(),
                Piece::Code(code) => format!("`{code}`"),
            }).collect();
            prop_assert_eq!(all, text);
        }
    }
}
