//! Colours the texts of a report for a terminal.

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

/// Returns the text with an escape sequence for the colour `code`, if the style allows colours.
pub(super) fn paint(text: &str, code: &str, style: &Style) -> String {
    if !style.color || code.is_empty() || text.trim().is_empty() {
        return text.into();
    }
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
