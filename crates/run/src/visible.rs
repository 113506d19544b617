//! Makes untrusted names of servers, processes and files safe to show. No other function than [`visible`] does this.

use std::borrow::Cow;

/// Ranges of characters that are invisible or change the direction of the text: bidirectional controls, zero-width
/// characters, fillers, variation selectors and tags (Unicode's `Default_Ignorable_Code_Point`), line separators,
/// annotations.
const INVISIBLE: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns true if a character is invisible by itself, but can change how the text around it is displayed.
pub fn is_invisible(c: char) -> bool {
    !c.is_ascii() && INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Replaces control characters by spaces and invisible characters by escapes such as `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() || is_invisible(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => out.push(' '),
            c if is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_written_as_escapes() {
        assert_eq!(visible("nginx\u{202e}gpj.exe\u{200b}"), r"nginx\u{202e}gpj.exe\u{200b}");
        assert_eq!(visible("a\u{1b}[31m\r\nb\u{9b}"), "a [31m  b ");
        assert_eq!(visible("\u{e0041}"), r"\u{e0041}");
    }

    #[test]
    fn words_of_any_language_stay_as_they_are() {
        for text in ["plain", "größer – 12 µs", "שלום", "مرحبا", "日本語", "Ωμέγα"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }
}
