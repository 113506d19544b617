//! Shortens a text to its first whole clauses, so that no sentence is cut in the middle.

/// Returns the longest beginning of a text that `fits`, and that ends with a whole clause. A sentence, or a clause
/// before a semicolon, is preferred to the words before a colon. If no beginning fits, returns the shortest one. If the
/// text is a single clause, returns the whole text.
pub(super) fn first_clauses(text: &str, fits: impl Fn(&str) -> bool) -> &str {
    if fits(text) {
        return text;
    }
    let ends = ends(text);
    let beginnings = |is_colon: bool| {
        let ends = ends.iter().rev().filter(move |end| end.is_colon == is_colon);
        ends.map(|end| &text[..end.at])
    };
    let fitting = beginnings(false).chain(beginnings(true)).find(|beginning| fits(beginning));
    fitting.or_else(|| ends.first().map(|end| &text[..end.at])).unwrap_or(text)
}

/// End of a clause in a text.
struct End {
    /// Index of the first byte after the clause.
    at: usize,
    /// True if a colon follows the clause.
    is_colon: bool,
}

/// Returns the ends of all clauses except the last clause. A mark in brackets or between backticks ends no clause,
/// unless a bracket or a backtick of the text has no partner.
fn ends(text: &str) -> Vec<End> {
    let count = |mark: char| text.matches(mark).count();
    let is_paired = count('(') == count(')') && count('`').is_multiple_of(2);
    let (mut ends, mut depth, mut is_code) = (Vec::new(), 0_u32, false);
    for (at, mark) in text.char_indices() {
        let is_outside = depth == 0 && !is_code || !is_paired;
        match mark {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '`' => is_code = !is_code,
            ';' | ':' | '.' if is_outside && text[at + 1..].starts_with(' ') => {
                ends.push(End { at: if mark == '.' { at + 1 } else { at }, is_colon: mark == ':' });
            }
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_with_a_whole_clause() {
        let text = "proven: it fell (by 3 %; as predicted). Nothing else moved; see `a; b`: more";
        let of = |most: usize| first_clauses(text, |part| part.len() <= most);
        assert_eq!(of(100), text);
        assert_eq!(of(70), "proven: it fell (by 3 %; as predicted). Nothing else moved");
        assert_eq!(of(57), "proven: it fell (by 3 %; as predicted).");
        assert_eq!([of(20), of(3)], ["proven"; 2], "no sentence fits");
        assert_eq!(first_clauses("one clause, however long", |_| false), "one clause, however long");
    }

    #[test]
    fn a_bracket_without_a_partner_hides_no_end() {
        assert_eq!(first_clauses("a (b; c", |part| part.len() < 6), "a (b");
        assert_eq!(first_clauses("a `b. ü; c", |part| part.len() < 6), "a `b.");
    }
}
