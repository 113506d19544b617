//! Removes the values from SQL statements: replaces each literal by `?`, removes comments, and shortens lists of
//! values. In the comments of this file, "string" means a literal in quotes.

/// Maximum length of a stored statement, characters.
pub(crate) const MAX_STATEMENT_CHARS: usize = 160;
/// Maximum length of a statement's short name in reports, characters.
const MAX_NAME_CHARS: usize = 60;
/// Mark at the end of a statement that was cut.
const CUT: char = '…';

/// SQL dialect of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PostgreSQL, where names may be in double quotes.
    #[default]
    Postgres,
    /// MariaDB, where strings may be in double quotes, and a comment may begin with `#`.
    Mariadb,
}

/// Returns a statement without its values. The result is safe to show and limited in length. If the end of a string is
/// uncertain, the result ends at this string, because the text after the string may contain another value.
pub(crate) fn without_values(statement: &str, dialect: Dialect) -> String {
    let mut words = Words { rest: statement, dialect, spaced: false, out: Vec::new() };
    while words.next() {}
    let mut text = String::with_capacity(statement.len());
    for (spaced, word) in &words.out {
        if *spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    bounded(&run::visible(&text))
}

/// Returns a short name for a statement of PostgreSQL, without its values and placeholders.
pub fn statement_name(statement: &str) -> String {
    cut(&without_values(&proto::without_placeholders(statement), Dialect::Postgres), MAX_NAME_CHARS)
}

/// Limits the length of a text.
pub(crate) fn bounded(text: &str) -> String {
    cut(text, MAX_STATEMENT_CHARS)
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => text[..end].trim_end().to_string() + &String::from(CUT),
        None => text.into(),
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_have_no_values_and_no_placeholders() {
        let name = statement_name("SELECT abalance FROM accounts WHERE aid = {{random 1 9}} AND word = 'hunter2'");
        assert_eq!(name, "SELECT abalance FROM accounts WHERE aid = ? AND word = ?");
        assert_eq!(statement_name(&format!("SELECT {}", "x".repeat(99))).chars().count(), MAX_NAME_CHARS + 1);
    }

    fn without_values(statement: &str) -> String {
        super::without_values(statement, Dialect::Postgres)
    }

    #[test]
    fn texts_of_mariadb_may_stand_in_double_quotes() {
        let of = |statement| super::without_values(statement, Dialect::Mariadb);
        assert_eq!(of("UPDATE `t` SET a = \"hunter's\" # 7\nWHERE b = 'x''y'"), "UPDATE `t` SET a = ? WHERE b = ?");
        for hidden in ["SELECT 'a\\'hunter'", "SELECT \"a\\\" hunter\"", "SELECT E'a\\' hunter'", "SELECT \"hunter"] {
            assert!(!of(hidden).contains("hunter"), "{hidden}");
        }
    }

    #[test]
    fn values_become_question_marks() {
        for (statement, expected) in [
            (
                "UPDATE counters SET n = n + 1, secret = 'hunter2'\n  WHERE id = 42",
                "UPDATE counters SET n = n + ?, secret = ? WHERE id = ?",
            ),
            ("select pg_sleep(0.003)", "select pg_sleep(?)"),
            ("SELECT $1, t2.a1 FROM \"My T\" t2 WHERE b=$2::int", "SELECT $1, t2.a1 FROM \"My T\" t2 WHERE b=$2::int"),
            ("INSERT INTO t VALUES (1, 'a''b', 3), (-4, 1e-9, 0xff)", "INSERT INTO t VALUES (?, …), (?, …)"),
            ("SELECT E'it\\'s', U&'d\\0061', b'01', $$body$$, $t$a $$ b$t$", "SELECT ?, …"),
            (
                "/* trace=1 /* nested */ */ DELETE FROM t -- user 7\nWHERE x IN (1,2,3)",
                "DELETE FROM t WHERE x IN (?,…)",
            ),
            ("ALTER ROLE app PASSWORD 'hunter2'", "ALTER ROLE app PASSWORD ?"),
            ("SELECT a[1], x -1 FROM t", "SELECT a[?], x -? FROM t"),
            ("", ""),
        ] {
            assert_eq!(without_values(statement), expected);
        }
    }

    #[test]
    fn a_text_with_an_uncertain_end_ends_the_statement() {
        // Under old settings of the server, the backslash escapes the quote after it, so the second string begins at a
        // different quote.
        assert_eq!(without_values("SELECT 'a\\', ' hunter2 '"), "SELECT ?…");
        for cut in
            ["SELECT 'hunter2", "SELECT $$hunter2", "SELECT /* hunter2", "SELECT \"hunter2", "SELECT E'hunter2\\"]
        {
            assert!(!without_values(cut).contains("hunter2"), "{cut}");
        }
    }

    #[test]
    fn long_and_hostile_statements_are_bounded() {
        let long = without_values(&format!("SELECT {}", "column_of_a_table, ".repeat(1000)));
        assert_eq!(long.chars().count(), MAX_STATEMENT_CHARS + 1);
        assert_eq!(without_values("SELECT a\u{1b}[2J\u{202e}b"), "SELECT a [?\\u{202e}b");
    }

    /// Generates values and comments that contain "hunter", in various notations of SQL.
    fn literal() -> impl Strategy<Value = String> {
        let plain = "[ -&(-\\[\\]-~]{0,12}";
        prop_oneof![
            plain.prop_map(|text| format!("'{text}hunter{text}'")),
            plain.prop_map(|text| format!("'{text}'' hunter'")),
            plain.prop_map(|text| format!("E'{text}\\' hunter'")),
            "[ -#%-~]{0,12}".prop_map(|text| format!("$${text}hunter$$")),
            "[ -#%-~]{0,12}".prop_map(|text| format!("$tag${text} $$ hunter$tag$")),
            "[ -)+-.0-~]{0,12}".prop_map(|text| format!("/*{text}hunter*/ 7")),
            "[ -~]{0,12}".prop_map(|text| format!("--{text}hunter\n 7")),
            Just("hunter".to_string()).prop_map(|text| format!("U&'{text}'")),
        ]
    }

    proptest! {
        #[test]
        fn no_value_is_left(literals in prop::collection::vec(literal(), 1..6), cut in 0_usize..200) {
            let statement = format!("UPDATE t SET a = {} WHERE b", literals.join(", c = "));
            let found = without_values(&statement);
            prop_assert!(!found.contains("hunter"), "{statement} -> {found}");
            // A database may cut a long statement at any byte.
            let part: String = statement.chars().take(cut).collect();
            prop_assert!(!without_values(&part).contains("hunter"), "{part}");
        }

        #[test]
        fn numbers_vanish(n in any::<u32>(), x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            let found = without_values(&format!("SELECT {n}, a + {x:?}, f({n}) FROM t"));
            prop_assert!(!found.contains(|c: char| c.is_ascii_digit()), "{found}");
        }

        #[test]
        fn any_text_is_bounded_and_a_second_pass_changes_nothing(text in "\\PC{0,300}|[-'\"$/*a-z0-9 \\\\(,]{0,200}") {
            let once = without_values(&text);
            prop_assert!(once.chars().count() <= MAX_STATEMENT_CHARS + 1);
            if once.chars().count() < MAX_STATEMENT_CHARS && !once.contains('\\') {
                prop_assert_eq!(&without_values(&once), &once);
            }
        }
    }
}
