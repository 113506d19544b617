//! Recognizes tokens in texts of other programs, such as a server's error or a shell command. A token shows by the word
//! before it (`password=…`, `Bearer …`) or by its appearance.

use super::secret_names::{is_secret_name, looks_like_token};

const HIDDEN: &str = "<redacted>";
/// Minimum length of a text that counts as a JSON Web Token because it begins with `eyJ`.
const MIN_JWT_LENGTH: usize = 20;

/// Replaces all tokens and passwords in a text that people read, such as a server's error. In a server's error, a word
/// that begins with `-`, for example `-NOAUTH`, is not an option.
pub fn hide_tokens(text: &str) -> String {
    hide(text, false)
}

/// Replaces all tokens and passwords in a shell command or its output, including values of options: `--token abc`.
pub fn hide_tokens_of_command(text: &str) -> String {
    hide(text, true)
}

fn hide(text: &str, has_options: bool) -> String {
    let mut state = State { has_options, ..State::default() };
    let mut out = String::with_capacity(text.len());
    for piece in pieces(&hide_users(text)) {
        out.push_str(state.next(piece));
    }
    out
}

/// Splits a text into words and single separators.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if is_separator(first) { first.len_utf8() } else { rest.find(is_separator).unwrap_or(rest.len()) };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\"'`=:,;&?/{}[]()<>\\|#".contains(c)
}

/// State of the search for secrets between two words of a text. The state decides whether the next word may be a
/// secret.
#[derive(Default)]
struct State {
    /// True if words that begin with `-` are options, as in a command.
    has_options: bool,
    /// True if the last word names a secret.
    named: bool,
    /// True if the last word is an option such as `--token`.
    option: bool,
    /// True if the next word is a secret.
    expected: bool,
    /// True if a scheme such as `Bearer` came directly before the next word.
    announced: bool,
    /// True if a space followed the name of a secret, as in a sentence. If a space followed the name of a secret, the
    /// next word is a secret only if it looks like a secret.
    in_sentence: bool,
}

impl State {
    /// Returns the state at the beginning of a text.
    fn fresh(&self) -> Self {
        Self { has_options: self.has_options, ..Self::default() }
    }

    fn next<'a>(&mut self, piece: &'a str) -> &'a str {
        match piece.chars().next() {
            Some('=' | ':') => {
                *self = Self { expected: self.expected || self.named, ..self.fresh() };
                piece
            }
            Some('"' | '\'' | '\\' | '`') => {
                self.in_sentence = false;
                piece
            }
            Some(c) if c.is_whitespace() => {
                self.expected |= self.named && self.option;
                self.in_sentence = self.expected && !self.option && !self.announced;
                piece
            }
            Some(c) if is_separator(c) => {
                *self = self.fresh();
                piece
            }
            _ => self.word(piece),
        }
    }

    fn word<'a>(&mut self, word: &'a str) -> &'a str {
        if matches!(word.to_ascii_lowercase().as_str(), "bearer" | "basic" | "digest" | "token") && self.expected {
            *self = Self { expected: true, announced: true, ..self.fresh() };
            return word;
        }
        let hidden = self.expected && (!self.in_sentence || looks_secret(word)) || is_token(word);
        let name = word.trim_start_matches('-');
        let option = self.has_options && word.starts_with('-');
        *self = Self { named: is_secret_name(name), option, ..self.fresh() };
        // The word "Bearer" always announces a token.
        self.expected = word.eq_ignore_ascii_case("bearer");
        self.announced = self.expected;
        if hidden { HIDDEN } else { word }
    }
}

fn is_token(word: &str) -> bool {
    looks_like_token(word) || word.starts_with("eyJ") && word.len() >= MIN_JWT_LENGTH
}

/// Returns true if a word of a sentence looks like a secret. A word looks like a secret if it has a digit, a
/// punctuation mark other than a dot, or a capital after its first letter.
fn looks_secret(word: &str) -> bool {
    let plain = |(at, c): (usize, char)| c.is_alphabetic() && (at == 0 || !c.is_uppercase()) || c == '.';
    !word.char_indices().all(plain)
}

/// Replaces user names and passwords in URLs: `scheme://user:password@host`.
fn hide_users(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        let end = after.find(|c: char| c.is_whitespace() || "\"'`/?#<>".contains(c)).unwrap_or(after.len());
        out.push_str(before);
        let host = after[..end].rfind('@');
        out.extend(host.map(|_| HIDDEN));
        rest = &after[host.unwrap_or(0)..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_hidden_by_name_scheme_option_and_look() {
        for (text, hidden) in [
            (r#"{"access_token":"s3cr3t","error":"bad"}"#, r#"{"access_token":"<redacted>","error":"bad"}"#),
            (r#"{\"password\": \"hunter\"}"#, r#"{\"password\": \"<redacted>\"}"#),
            ("Authorization: Bearer abc.def", "Authorization: Bearer <redacted>"),
            ("expected Bearer abc", "expected Bearer <redacted>"),
            ("API_TOKEN=abc ./server --password=x1 -v", "API_TOKEN=<redacted> ./server --password=<redacted> -v"),
            ("postgres://me:pw@db/x and redis://h:1/", "postgres://<redacted>@db/x and redis://h:1/"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.e30.abc expired", "jwt <redacted> expired"),
            ("id 0123456789abcdef0123456789abcdef gone", "id <redacted> gone"),
        ] {
            assert_eq!((hide_tokens(text).as_str(), hide_tokens_of_command(text).as_str()), (hidden, hidden));
        }
        let command = hide_tokens_of_command("./server --token abc --port 8081");
        assert_eq!(command, "./server --token <redacted> --port 8081");
    }

    #[test]
    fn sentences_and_commands_without_secrets_stay() {
        for text in [
            "invalid token: expired",
            "the token is missing; session: none",
            "exec python3 /tmp/srv.py 8081 ok",
            "unknown method: GET /x?a=1&b=2",
            "{\"error\":\"no such user\",\"code_path\":\"/usr/lib/x86_64-linux-gnu/libssl.so.3\"}",
            "ünïcödé: ß → 𝄞",
            "-NOAUTH Authentication required; give the password with --auth-file FILE",
        ] {
            assert_eq!(hide_tokens(text), text);
        }
    }
}
