//! Errors in a file of requests.

/// An error in a file of requests, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// File name as the user gave it; empty if the message already names the file.
    pub file: String,
    /// Line and column, counted from 1; `None` if the error concerns the whole file.
    pub place: Option<(usize, usize)>,
    /// Description of the error, the text at its place, and advice.
    pub message: String,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{}: line {line}, column {column}: {}", self.file, self.message),
            None if self.file.is_empty() => f.write_str(&self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Returns the error for a file that cannot be read. The error's message names the file.
pub(crate) fn unread(error: &run::RunDirError) -> ReadError {
    ReadError { file: String::new(), place: None, message: error.to_string() }
}

/// Returns line and column, counted from 1, of the byte at index `at`.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    (before.matches('\n').count() + 1, before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1)
}

/// Quotes the beginning of a text, for a message. Passwords and tokens are hidden, because the text may be a file that
/// was given by mistake, such as `.env`.
pub(crate) fn shown(text: &str) -> String {
    let line = run::hide_tokens(text.lines().next().unwrap_or_default());
    let short: String = line.chars().take(60).collect();
    if short.len() < line.len() { format!("{short:?} …") } else { format!("{short:?}") }
}
