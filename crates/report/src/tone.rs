//! Tones of texts, such as good or bad.

/// Tone of a text, such as good or bad, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Text without a special meaning.
    #[default]
    Plain,
    /// Good: a limit is met, or a check passed.
    Good,
    /// Text that needs the reader's attention.
    Warn,
    /// Text about something bad: a limit is exceeded, or a check failed.
    Bad,
    /// Text that is less important than the text around it.
    Quiet,
}
