//! Tones of texts.

/// Tone of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Good: a limit held, or a check passed.
    Good,
    /// Needs attention.
    Warn,
    /// Failed.
    Bad,
    /// Less important.
    Quiet,
}
