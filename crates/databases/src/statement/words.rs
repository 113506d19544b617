//! Reads the words of an SQL statement. A literal becomes the word `?`, and comments are skipped.

/// Mark at the end of a statement that was cut.
pub(super) const CUT: char = '…';

/// SQL dialect of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PostgreSQL, where names may be in double quotes.
    #[default]
    Postgres,
    /// MariaDB, where strings may be in double quotes, and a comment may begin with `#`.
    Mariadb,
}

/// Returns the words of a statement, with `?` for each value. The flag of a word is true if a space comes before it.
pub(super) fn words(statement: &str, dialect: Dialect) -> Vec<(bool, &str)> {
    let mut words = Words { rest: statement, dialect, spaced: false, out: Vec::new() };
    while words.next() {}
    words.out
}

const fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii() && c != CUT
}

const fn is_name(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || c == '$'
}

/// Words of a statement, and the part of the statement that is not yet read.
struct Words<'a> {
    rest: &'a str,
    dialect: Dialect,
    /// True if white space or a comment followed the last word.
    spaced: bool,
    /// Words, each with a flag: true if a space comes before the word.
    out: Vec<(bool, &'a str)>,
}

impl<'a> Words<'a> {
    /// Reads the next word of the SQL statement. Returns false at the end of the statement, or if the rest of the
    /// statement must be dropped because it may contain values.
    fn next(&mut self) -> bool {
        let rest = self.rest.trim_start();
        self.spaced |= rest.len() < self.rest.len();
        self.rest = rest;
        let Some(first) = self.rest.chars().next() else { return false };
        let second = self.rest.chars().nth(1).unwrap_or(' ');
        match (first, second) {
            ('-', '-') => self.skip_line(),
            ('/', '*') => self.skip_comment(),
            ('#', _) if self.dialect == Dialect::Mariadb => self.skip_line(),
            ('\'', _) => return self.text('\'', false),
            ('"', _) if self.dialect == Dialect::Mariadb => return self.text('"', false),
            ('"' | '`', _) => self.quoted_name(first),
            ('$', '0'..='9') => {
                let word = self.take(|c| c == '$' || c.is_ascii_digit());
                self.push(word);
            }
            ('$', _) => self.dollar_text(),
            ('0'..='9', _) | ('.', '0'..='9') => self.number(),
            _ if is_name_start(first) => return self.name(),
            _ => {
                let (word, rest) = self.rest.split_at(first.len_utf8());
                self.rest = rest;
                self.push(word);
            }
        }
        true
    }

    fn push(&mut self, word: &'a str) {
        self.out.push((std::mem::take(&mut self.spaced), word));
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let (word, rest) = self.rest.split_at(self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn skip_line(&mut self) {
        self.spaced = true;
        self.rest = self.rest.find('\n').map_or("", |at| &self.rest[at..]);
    }

    /// Skips a comment and all comments nested in it, because PostgreSQL nests comments.
    fn skip_comment(&mut self) {
        self.spaced = true;
        let mut depth = 0_u32;
        while let Some(at) = self.rest.find(['/', '*']) {
            let rest = &self.rest[at..];
            let (change, length) = match rest {
                _ if rest.starts_with("/*") => (1, 2),
                _ if rest.starts_with("*/") => (-1, 2),
                _ => (0, 1),
            };
            depth = depth.saturating_add_signed(change);
            self.rest = &rest[length..];
            if depth == 0 {
                return;
            }
        }
        self.rest = "";
    }

    /// Reads a string in quotes. If `escapes` is false, a backslash escapes a quote only under old settings of the
    /// server, which loadline does not know. A backslash before a quote therefore makes the end of the string
    /// uncertain. If the end is uncertain, the function drops the rest of the statement and returns false.
    fn text(&mut self, quote: char, escapes: bool) -> bool {
        let mut chars = self.rest.char_indices().skip(1).peekable();
        self.rest = loop {
            match chars.next() {
                None => break "",
                Some((_, '\\')) if escapes => drop(chars.next()),
                Some((_, '\\')) if chars.peek().is_some_and(|(_, c)| *c == quote) => {
                    self.value();
                    self.push("…");
                    self.rest = "";
                    return false;
                }
                Some((_, c)) if c == quote && chars.peek().is_some_and(|(_, c)| *c == quote) => drop(chars.next()),
                Some((at, c)) if c == quote => break &self.rest[at + 1..],
                Some(_) => {}
            }
        };
        self.value();
        true
    }

    /// Reads a name in quotes. If the closing quote is missing, the rest of the statement becomes an ellipsis.
    fn quoted_name(&mut self, quote: char) {
        match self.rest[1..].find(quote) {
            Some(end) => {
                let (word, rest) = self.rest.split_at(end + 2);
                self.rest = rest;
                self.push(word);
            }
            None => {
                self.rest = "";
                self.push("…");
            }
        }
    }

    /// Reads a string in dollar quotes, such as `$$ … $$` or `$tag$ … $tag$`. Reads only the dollar sign if it does not
    /// begin a string in dollar quotes.
    fn dollar_text(&mut self) {
        let after = &self.rest[1..];
        let tag = after.find('$').filter(|end| after[..*end].chars().all(|c| is_name(c) && c != '$'));
        let Some(end) = tag else {
            self.rest = after;
            self.push("$");
            return;
        };
        let (mark, body) = self.rest.split_at(end + 2);
        self.rest = body.find(mark).map_or("", |at| &body[at + mark.len()..]);
        self.value();
    }

    fn number(&mut self) {
        // A number may also contain letters, for a base other than 10 or for an exponent, such as in 0x1f and 1e-9.
        let word = self.take(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        let exponent = word.ends_with(['e', 'E']) && !word.starts_with("0x");
        if exponent && self.rest.starts_with(['+', '-']) {
            self.rest = &self.rest[1..];
            self.take(|c| c.is_ascii_digit() || c == '_');
        }
        self.value();
    }

    /// Reads a name, or a string with a prefix, such as E'…' or U&'…'. Returns false if the rest of the statement must
    /// be dropped because it may contain values.
    fn name(&mut self) -> bool {
        let word = self.take(is_name);
        let is_prefix = |letters: &str| letters.split(' ').any(|letter| word.eq_ignore_ascii_case(letter));
        match () {
            () if self.rest.starts_with('\'') && is_prefix("E B X N") => {
                return self.text('\'', is_prefix("E") && self.dialect == Dialect::Postgres);
            }
            () if self.rest.starts_with("&'") && is_prefix("U") => {
                self.rest = &self.rest[1..];
                return self.text('\'', false);
            }
            () => self.push(word),
        }
        true
    }

    /// Writes `?` for a value. A list of several values becomes `?` and an ellipsis. A plus or minus sign that belongs
    /// to a value is replaced together with the value.
    fn value(&mut self) {
        let word = |back: usize| self.out.iter().rev().nth(back).map(|(_, word)| *word);
        match [word(0), word(1)] {
            // In SQL, adjacent strings are one string.
            [Some("?"), _] => {}
            [Some(","), Some("…")] => {
                self.out.pop();
                self.spaced = false;
            }
            [Some(","), Some("?")] => self.push("…"),
            [Some("-" | "+"), Some("=" | "<" | ">" | "(" | "," | "-" | "+" | "*" | "/")] => {
                self.spaced = self.out.pop().is_some_and(|(spaced, _)| spaced);
                self.value();
            }
            _ => self.push("?"),
        }
    }
}
