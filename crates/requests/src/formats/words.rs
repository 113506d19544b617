//! Words of a shell's command lines, with their places: what a browser copies, and what people paste.
//!
//! Quotes, escapes, `$'…'`, lines that go on after a backslash, and `;`, `&`, `|` or a line end between commands. Nothing is
//! expanded: a variable stays as it is written.

/// A word and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) at: usize,
}

/// What cannot be read, and where.
pub(super) type Wrong = (usize, &'static str);

/// The commands of a text, each with its words.
pub(super) fn commands(text: &str) -> Result<Vec<Vec<Word>>, Wrong> {
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
            '\\' if reader.ends_line() => {}
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

    /// Reads over a backslash before a line end.
    fn ends_line(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let length = ["\\\r\n", "\\\n"].into_iter().find(|end| rest.starts_with(end)).map_or(0, str::len);
        self.at += length;
        length > 0
    }

    fn word(&mut self) -> Result<Word, Wrong> {
        let (begin, mut text) = (self.at, String::new());
        while let Some(c) = self.peek() {
            let here = self.at;
            match c {
                c if c.is_whitespace() || ";&|".contains(c) => break,
                '\\' if self.ends_line() => {}
                '\\' => {
                    self.next();
                    text.extend(self.next());
                }
                '\'' => {
                    self.next();
                    self.until('\'', here, |_, _| false, &mut text)?;
                }
                '"' => {
                    self.next();
                    self.until('"', here, Self::in_double, &mut text)?;
                }
                '$' if self.text[here..].starts_with("$'") => {
                    self.at += 2;
                    self.until('\'', here, Self::ansi, &mut text)?;
                }
                _ => text.extend(self.next()),
            }
        }
        Ok(Word { text, at: begin })
    }

    /// Up to the closing quote; `escape` takes what begins with a backslash, where it means something.
    fn until(
        &mut self,
        close: char,
        began: usize,
        escape: fn(&mut Self, &mut String) -> bool,
        to: &mut String,
    ) -> Result<(), Wrong> {
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

    fn in_double(&mut self, to: &mut String) -> bool {
        if self.ends_line() {
            return true;
        }
        let Some(c) = self.text[self.at + 1..].chars().next().filter(|c| "\"\\$`".contains(*c)) else { return false };
        self.at += 1 + c.len_utf8();
        to.push(c);
        true
    }

    /// ANSI-C quoting of bash.
    fn ansi(&mut self, to: &mut String) -> bool {
        self.next();
        let Some(c) = self.next() else { return true };
        match c {
            'n' => to.push('\n'),
            't' => to.push('\t'),
            'r' => to.push('\r'),
            'x' => to.extend(self.digits(2)),
            'u' => to.extend(self.digits(4)),
            'U' => to.extend(self.digits(8)),
            '\'' | '"' | '\\' | '?' => to.push(c),
            other => to.extend(['\\', other]),
        }
        true
    }

    /// The character of at most so many hexadecimal digits.
    fn digits(&mut self, most: usize) -> Option<char> {
        let mut code = 0;
        for _ in 0..most {
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

    /// What `sh` itself makes of the words.
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
