//! Splits shell command lines into words and notes where each begins.
//!
//! Understands quotes, escapes, `$'…'` and lines that continue after a backslash. `;`, `&`, `|` and line ends separate
//! commands. Variables are not expanded.

/// A word with the index at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) at: usize,
}

/// An error: index in the text, and message.
pub(super) type PlacedError = (usize, &'static str);

/// Splits a text into commands, and each command into words.
pub(super) fn commands(text: &str) -> Result<Vec<Vec<Word>>, PlacedError> {
    let mut reader = Reader { text, at: 0 };
    let (mut all, mut command) = (Vec::new(), Vec::new());
    while let Some(c) = reader.peek() {
        match c {
            '\n' | ';' | '&' | '|' => {
                reader.next();
                all.push(std::mem::take(&mut command));
            }
            c if c.is_whitespace() => drop(reader.next()),
            '#' => {
                while reader.peek().is_some_and(|c| c != '\n') {
                    reader.next();
                }
            }
            '\\' if reader.skip_continuation() => {}
            _ => command.push(reader.word()?),
        }
    }
    all.push(command);
    all.retain(|words| !words.is_empty());
    Ok(all)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips a backslash before a line end. Returns whether there was one.
    fn skip_continuation(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let length = ["\\\r\n", "\\\n"].into_iter().find(|end| rest.starts_with(end)).map_or(0, str::len);
        self.at += length;
        length > 0
    }

    fn word(&mut self) -> Result<Word, PlacedError> {
        let (begin, mut text) = (self.at, String::new());
        while let Some(c) = self.peek() {
            let here = self.at;
            match c {
                c if c.is_whitespace() || ";&|".contains(c) => break,
                '\\' if self.skip_continuation() => {}
                '\\' => {
                    self.next();
                    text.extend(self.next());
                }
                '\'' => {
                    self.next();
                    self.read_quoted('\'', here, |_, _| false, &mut text)?;
                }
                '"' => {
                    self.next();
                    self.read_quoted('"', here, Self::double_quote_escape, &mut text)?;
                }
                '$' if self.text[here..].starts_with("$'") => {
                    self.at += 2;
                    self.read_quoted('\'', here, Self::ansi_escape, &mut text)?;
                }
                _ => text.extend(self.next()),
            }
        }
        Ok(Word { text, at: begin })
    }

    /// Reads up to the closing quote. `escape` reads a backslash sequence and returns false where it means nothing.
    fn read_quoted(
        &mut self,
        close: char,
        began: usize,
        escape: fn(&mut Self, &mut String) -> bool,
        to: &mut String,
    ) -> Result<(), PlacedError> {
        loop {
            match self.peek() {
                None => return Err((began, "a quotation mark is not closed")),
                Some(c) if c == close => {
                    self.next();
                    return Ok(());
                }
                Some('\\') if escape(self, to) => {}
                Some(_) => to.extend(self.next()),
            }
        }
    }

    fn double_quote_escape(&mut self, to: &mut String) -> bool {
        if self.skip_continuation() {
            return true;
        }
        let Some(c) = self.text[self.at + 1..].chars().next().filter(|c| "\"\\$`".contains(*c)) else { return false };
        self.at += 1 + c.len_utf8();
        to.push(c);
        true
    }

    /// Reads an escape of ANSI-C quoting (`$'…'` in bash).
    fn ansi_escape(&mut self, to: &mut String) -> bool {
        self.next();
        let Some(c) = self.next() else { return true };
        match c {
            'n' => to.push('\n'),
            't' => to.push('\t'),
            'r' => to.push('\r'),
            'x' => to.extend(self.hex_character(2)),
            'u' => to.extend(self.hex_character(4)),
            'U' => to.extend(self.hex_character(8)),
            '\'' | '"' | '\\' | '?' => to.push(c),
            other => to.extend(['\\', other]),
        }
        true
    }

    /// Reads a character given by at most `max_digits` hexadecimal digits.
    fn hex_character(&mut self, max_digits: usize) -> Option<char> {
        let mut code = 0;
        for _ in 0..max_digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else { break };
            self.next();
            code = code << 4 | digit;
        }
        char::from_u32(code)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Vec<Vec<String>> {
        commands(text).unwrap().into_iter().map(|words| words.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let text = "curl 'a b' \"c\\\"d$e\" f\\ g \\\n  $'h\\'\\u0041\\n' # remark\n\ncurl x; curl y &\ncurl ''";
        let all = of(text);
        assert_eq!(all[0], ["curl", "a b", "c\"d$e", "f g", "h'A\n"]);
        assert_eq!(all[1..], [vec!["curl", "x"], vec!["curl", "y"], vec!["curl", ""]]);
        assert_eq!(commands("a 'b").unwrap_err().0, 2);
    }

    /// Splits the words with `sh` itself.
    #[test]
    fn a_shell_agrees() {
        let line = r#"a'b'"c\d\\e" 'f"g' h\"i "j'k" '\n' "\n" l\'m"#;
        let out = std::process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {line}")]).output().unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        assert_eq!(said.split_terminator('\0').collect::<Vec<_>>(), of(line)[0]);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(text in "\\PC*[ '\"\\\\$\n;]*\\PC*") {
            let _ = commands(&text);
        }
    }
}
