//! Reads one word, redirection or escape of a shell command line.

/// A word, and the index at which the word begins. The word may contain bytes that are not UTF-8, from escapes in
/// `$'…'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
}

/// An error: byte index in the text, and message.
pub(crate) type PlacedError = (usize, &'static str);

pub(super) const VARIABLE: &str = "a variable or a command of the shell is not filled in here; write its value in its place, or \
                        escape the character as \\$ or \\` to send it";

/// A text of shell command lines, and the index up to which it is read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Reader<'_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Copies the next character of the command line to `to`.
    fn copy(&mut self, to: &mut Vec<u8>) {
        self.next().into_iter().for_each(|c| push(to, c));
    }

    /// Skips a backslash and the line end directly after it. Returns true if a backslash and a line end were skipped.
    pub(super) fn skip_continuation(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let length = ["\\\r\n", "\\\n"].into_iter().find(|end| rest.starts_with(end)).map_or(0, str::len);
        self.at += length;
        length > 0
    }

    /// Returns true if the next characters redirect input or output, such as `>` or `2>`.
    pub(super) fn begins_redirection(&self) -> bool {
        self.text[self.at..].trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>'])
    }

    /// Skips a redirection with its file: `> /dev/null`, `2>&1`. A redirection changes nothing about the request.
    pub(super) fn skip_redirection(&mut self) -> Result<(), PlacedError> {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.next();
        }
        while self.peek().is_some_and(|c| matches!(c, '<' | '>')) {
            self.next();
        }
        if self.peek().is_some_and(|c| matches!(c, '&' | '|')) {
            self.next();
        }
        while self.peek().is_some_and(|c| matches!(c, ' ' | '\t')) {
            self.next();
        }
        self.word().map(drop)
    }

    pub(super) fn word(&mut self) -> Result<Word, PlacedError> {
        let (begin, mut bytes) = (self.at, Vec::new());
        while let Some(c) = self.peek() {
            let here = self.at;
            match c {
                c if c.is_whitespace() || ";&|<>".contains(c) => break,
                '\\' if self.skip_continuation() => {}
                '\\' => {
                    self.next();
                    self.copy(&mut bytes);
                }
                '\'' => {
                    self.next();
                    self.read_quoted('\'', here, |_, _| Ok(false), &mut bytes)?;
                }
                '"' => {
                    self.next();
                    self.read_quoted('"', here, Self::double_quote_escape, &mut bytes)?;
                }
                '$' if self.text[here..].starts_with("$'") => {
                    self.at += 2;
                    self.read_quoted('\'', here, Self::ansi_escape, &mut bytes)?;
                }
                '$' if self.text[here..].starts_with("$\"") => drop(self.next()),
                _ if self.begins_variable() => return Err((here, VARIABLE)),
                _ => self.copy(&mut bytes),
            }
        }
        Ok(Word { bytes, at: begin })
    }

    /// Returns true if the next characters begin a variable or another text that a shell would replace by a value.
    fn begins_variable(&self) -> bool {
        let mut rest = self.text[self.at..].chars();
        match (rest.next(), rest.next()) {
            (Some('`'), _) => true,
            (Some('$'), Some(c)) => c.is_ascii_alphanumeric() || "_{(@*#?$!-".contains(c),
            _ => false,
        }
    }

    /// Reads up to the closing quote. `escape` reads a backslash sequence, and returns false if this sequence has no
    /// special meaning.
    fn read_quoted(
        &mut self,
        close: char,
        began: usize,
        escape: fn(&mut Self, &mut Vec<u8>) -> Result<bool, PlacedError>,
        to: &mut Vec<u8>,
    ) -> Result<(), PlacedError> {
        loop {
            match self.peek() {
                None => return Err((began, "a quotation mark is not closed")),
                Some(c) if c == close => {
                    self.next();
                    return Ok(());
                }
                Some('\\') if escape(self, to)? => {}
                Some(_) if close == '"' && self.begins_variable() => return Err((self.at, VARIABLE)),
                Some(_) => self.copy(to),
            }
        }
    }

    fn double_quote_escape(&mut self, to: &mut Vec<u8>) -> Result<bool, PlacedError> {
        if self.skip_continuation() {
            return Ok(true);
        }
        let next = self.text[self.at + 1..].chars().next().filter(|c| "\"\\$`".contains(*c));
        if let Some(c) = next {
            self.at += 1 + c.len_utf8();
            push(to, c);
        }
        Ok(next.is_some())
    }

    /// Reads an escape of ANSI-C quoting (`$'…'`). Source: the manual of bash, section 3.1.2.4.
    fn ansi_escape(&mut self, to: &mut Vec<u8>) -> Result<bool, PlacedError> {
        let begin = self.at;
        self.next();
        let Some(c) = self.next() else { return Ok(true) };
        let byte = match c {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\'' | '"' | '\\' | '?' => c as u8,
            'c' => self.next().map_or(0, |c| c as u8 & 0x1f),
            '0'..='7' => {
                self.at -= 1;
                self.number(3, 8) as u8
            }
            'x' if self.digit(16) => self.number(2, 16) as u8,
            'u' | 'U' if self.digit(16) => return self.unicode(c, begin, to).map(|()| true),
            other => {
                to.push(b'\\');
                push(to, other);
                return Ok(true);
            }
        };
        if byte == 0 {
            return Err((begin, "a zero byte: no shell can give it to a command"));
        }
        to.push(byte);
        Ok(true)
    }

    /// Reads `\uHHHH` or `\UHHHHHHHH`. Browsers write a character beyond U+FFFF as two surrogates (`\uHHHH\uHHHH`).
    fn unicode(&mut self, letter: char, begin: usize, to: &mut Vec<u8>) -> Result<(), PlacedError> {
        let mut code = self.number(if letter == 'u' { 4 } else { 8 }, 16);
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.number(4, 16);
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        let character = char::from_u32(code).filter(|c| *c != '\0');
        push(to, character.ok_or((begin, "it is no character of Unicode"))?);
        Ok(())
    }

    fn digit(&self, radix: u32) -> bool {
        self.peek().is_some_and(|c| c.is_digit(radix))
    }

    /// Reads a number of at most `max_digits` digits.
    fn number(&mut self, max_digits: usize, radix: u32) -> u32 {
        let mut number: u32 = 0;
        for _ in 0..max_digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            self.next();
            number = number.wrapping_mul(radix).wrapping_add(digit);
        }
        number
    }
}

fn push(to: &mut Vec<u8>, c: char) {
    to.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
