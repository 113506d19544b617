//! Colours of the terminal.

use crate::{Style, Tone};

pub(super) fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "32",
        Tone::Warn => "33",
        Tone::Bad => "31",
        Tone::Quiet => "2",
    }
}

/// Returns the text in a colour, if the terminal supports colours.
pub(super) fn paint(text: &str, code: &str, style: &Style) -> String {
    if !style.color || code.is_empty() || text.trim().is_empty() {
        return text.into();
    }
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
