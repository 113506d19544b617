//! Tones of texts, such as good or bad.

/// Tone of a text, such as good or bad, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Good: a limit is met, or a check passed.
    Good,
    /// Needs the reader's attention.
    Warn,
    /// Bad: a limit is exceeded, or a check failed.
    Bad,
    /// Less important.
    Quiet,
}
