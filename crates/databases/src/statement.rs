//! Removes the values from SQL statements: replaces each literal by `?`, removes comments, and shortens lists of
//! values. In the comments of this module, "string" means a literal in quotes.

pub(crate) mod words;

use words::{CUT, Dialect, words};

/// Maximum length of a stored statement, characters.
pub(crate) const MAX_STATEMENT_CHARS: usize = 160;
/// Maximum length of a statement's short name in reports, characters.
const MAX_NAME_CHARS: usize = 60;

/// Returns a statement without its values. The result is safe to show and limited in length. If the end of a string is
/// uncertain, the result ends at this string, because the text after the string may contain another value.
pub(crate) fn without_values(statement: &str, dialect: Dialect) -> String {
    let mut text = String::with_capacity(statement.len());
    for (spaced, word) in words(statement, dialect) {
        if spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    bounded(&run::visible(&text))
}

/// Returns a short name for a statement of PostgreSQL, without its values and placeholders.
pub fn statement_name(statement: &str) -> String {
    cut(&without_values(&proto::without_placeholders(statement), Dialect::Postgres), MAX_NAME_CHARS)
}

/// Limits the length of a text.
pub(crate) fn bounded(text: &str) -> String {
    cut(text, MAX_STATEMENT_CHARS)
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => text[..end].trim_end().to_string() + &String::from(CUT),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests;
