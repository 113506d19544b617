//! Recognizes secret values by their names, and tokens by their appearance.

/// Headers with secret values (names in lower case). In addition, a header is secret if its name contains one of
/// [`SECRET_WORDS`], or if a part of its name, such as `key` in `X-My-Key`, marks a secret.
pub const SECRET_HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "authentication",
    "dpop",
    "x-functions-key",
    "ocp-apim-subscription-key",
];

/// Words that mark a secret: a header or query parameter is secret if its name contains one of these words. Names are
/// compared in lower case and without `-` and `_`.
pub const SECRET_WORDS: &[&str] =
    &["token", "secret", "passw", "apikey", "accesskey", "auth", "signature", "credential", "session"];

/// Query parameters whose value is secret, by their whole name.
const SECRET_PARAMETERS: &[&str] = &["key", "sig", "sid", "pwd", "pass", "pw", "jwt", "code"];

/// Parts of a header's name that mark a secret, such as `key` in `X-My-Key`. Parts are separated by `-` or `_`, and are
/// compared in lower case.
const SECRET_PARTS: &[&str] = &["key", "sig", "sid", "pwd", "pass", "pw", "jwt", "csrf", "xsrf"];

/// Minimum length of a token in a query. A value of at least this length with letters and digits is secret, whatever
/// its name is.
const MIN_TOKEN_LENGTH: usize = 32;

/// Returns true if the name of a header makes the header's value secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let has_secret_part = name.split(['-', '_']).any(|part| SECRET_PARTS.contains(&part));
    SECRET_HEADERS.contains(&name.as_str()) || has_secret_part || holds_secret_word(&name)
}

/// Returns true if a name in a text, such as an error or a command, makes the value after it secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // The names "key" and "code" count only for query parameters, because they also occur in ordinary sentences.
    SECRET_PARAMETERS.contains(&name.as_str()) && !["key", "code"].contains(&name.as_str()) || holds_secret_word(&name)
}

/// Returns true if a query parameter is secret by its name, or because its value looks like a token.
pub(super) fn is_secret_parameter(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARAMETERS.contains(&name.as_str()) || holds_secret_word(&name) || looks_like_token(value)
}

/// Returns true if a value is as long as a token and has letters and digits.
pub(super) fn looks_like_token(value: &str) -> bool {
    let has = |class: fn(&u8) -> bool| value.bytes().any(|byte| class(&byte));
    value.len() >= MIN_TOKEN_LENGTH && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

fn holds_secret_word(name: &str) -> bool {
    let letters = name.replace(['-', '_'], "");
    SECRET_WORDS.iter().any(|word| letters.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_secret_by_their_whole_name_by_a_word_or_by_a_part() {
        for name in ["Cookie", "X-Auth-Info", "X-My-Key", "X_CSRF", "X-XSRF-Field", "My-Jwt"] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["Accept", "X-Keyboard", "X-Monkey", "X-Signal", "Passenger", "X-Status-Code"] {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}
