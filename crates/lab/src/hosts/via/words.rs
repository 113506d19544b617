//! Words of a command line: parsing of the user's text, and quoting for a shell on another host.

/// Quotes a word for a POSIX shell, unless all its characters are safe without quotes.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Splits a line at spaces, except inside single or double quotes.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quote.is_some() { Err("a quote is not closed".into()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_each_word_back() {
        let words = ["plain", "two words", "it's", "", "$HOME", "a;b", "`id`", "\"x\"", "x\ny"];
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let command = format!("for w in {}; do printf '%s\\0' \"$w\"; done", line.join(" "));
        let out = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        assert_eq!(said.split('\0').take(words.len()).collect::<Vec<_>>(), words);
    }

    #[test]
    fn a_line_is_split_at_blanks_outside_of_quotes() {
        let words = split("ip  netns exec {host} env 'A=b c' \"d e\" ''").unwrap();
        assert_eq!(words, ["ip", "netns", "exec", "{host}", "env", "A=b c", "d e", ""]);
        assert!(split("a 'b").is_err() && split("  ").unwrap().is_empty());
    }
}
