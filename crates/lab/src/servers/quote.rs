//! Quoting of text for the shell.

/// Quotes a text, so that the shell reads it as one word.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
