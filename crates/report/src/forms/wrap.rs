//! Wraps text into lines of a given width. Escapes invisible characters, because names may come from a server.

/// Escapes invisible characters and line ends.
pub(super) fn clean(text: &str) -> String {
    run::visible(text).into_owned()
}

/// Wraps a text at spaces into lines of at most `width` characters (at least 8). A number and its `%` stay on one line.
/// Breaks a word that is longer than a line at any character.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in words(&clean(text)) {
        let chars: Vec<char> = word.chars().collect();
        let space = usize::from(used > 0);
        if used > 0 && used + space + chars.len() > width {
            lines.push(String::new());
            used = 0;
        }
        for (i, part) in chars.chunks(width).enumerate() {
            if i > 0 {
                lines.push(String::new());
                used = 0;
            }
            let Some(line) = lines.last_mut() else { break };
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.extend(part);
            used += part.len();
        }
    }
    lines
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if word.starts_with('%') && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

/// Cuts a text to at most `width` characters. The cut is after a whole word, unless more than half of the width would
/// then stay empty.
pub(super) fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.chars().count() <= width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    let in_word = !text[kept.len()..].starts_with(' ');
    let end = kept.rfind(' ').filter(|at| in_word && *at > kept.len() / 2);
    format!("{}…", kept[..end.unwrap_or(kept.len())].trim_end_matches([' ', ',', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(cut("the path to it, stopped answering", 20), "the path to it…");
        assert_eq!(cut("two words", 4), "two…");
        assert_eq!(cut("a verylongname", 8), "a veryl…");
        assert_eq!(cut("short", 5), "short");
    }

    #[test]
    fn lines_fit_and_keep_all_words() {
        let text = "one two three fourfivesixseveneightnineten eleven";
        let lines = wrap(text, 12);
        assert!(lines.iter().all(|l| l.chars().count() <= 12), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn a_number_keeps_its_percent() {
        assert_eq!(wrap("it is sure, 95 %)", 15), ["it is sure,", "95 %)"]);
        assert_eq!(wrap("12 % % of 7", 8), ["12 % %", "of 7"]);
    }

    #[test]
    fn escape_sequences_are_escaped() {
        assert_eq!(clean("a\u{1b}[31mb\n"), "a [31mb ");
    }
}
