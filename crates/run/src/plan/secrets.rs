//! Keeps secrets in memory only. In place of each secret, a plan contains a placeholder such as `<redacted:1a2b3c4d>`.
//! The digits of a placeholder are the first digits of the SHA-256 digest of the secret value and a random salt of the
//! process. Because of the salt, nobody can find a secret by hashing guesses, and equal secrets have different
//! placeholders in different runs. The secret values are in [`Secrets`], which is never stored. Secret values are used
//! only for requests (see [`crate::LoadPlan::revealed`]).

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use super::secret_names::{is_secret_header, is_secret_parameter};
use super::tokens::hide_tokens_of_command;
use crate::{Protocol, RequestSet, UrlParts};

/// Minimum length of a secret that loadline searches for in free text. A shorter secret would also be found in ordinary
/// words.
const MIN_SEARCHED_LENGTH: usize = 6;

const BEGIN: &str = "<redacted:";
/// Number of digits in a placeholder. If another value already has a placeholder with the same digits, the new
/// placeholder gets `DIGITS` further digits.
const DIGITS: usize = 8;

/// Secret values by placeholder. The debug output shows only the number of values.
#[derive(Clone, Default, PartialEq)]
pub struct Secrets {
    by_placeholder: BTreeMap<String, String>,
    /// Data rows for the requests of the load, which may be secret.
    rows: Vec<Vec<String>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.by_placeholder.len())
    }
}

impl Secrets {
    /// Stores a secret value and returns its placeholder. If the value is empty or already a placeholder, returns the
    /// value unchanged.
    pub fn redact(&mut self, value: &str) -> String {
        if value.is_empty() || value.starts_with(BEGIN) {
            return value.into();
        }
        let digest = Sha256::new_with_prefix(salt()).chain_update(value.as_bytes()).finalize();
        let digits: String = digest.iter().map(|b| format!("{b:02x}")).collect();
        // The placeholder gets more digits of the digest if the digest of another value begins with equal digits.
        for length in (DIGITS..=digits.len()).step_by(DIGITS) {
            let placeholder = format!("{BEGIN}{}>", &digits[..length]);
            if self.by_placeholder.entry(placeholder.clone()).or_insert_with(|| value.into()) == value {
                return placeholder;
            }
        }
        format!("{BEGIN}{digits}>")
    }

    /// Replaces the secrets in a URL, or in a path with a query, by placeholders. The secrets in a URL are user names,
    /// passwords, and query values that are secret by their name or look like tokens.
    pub fn redact_url(&mut self, url: &str) -> String {
        let UrlParts { scheme, authority, path, .. } = UrlParts::parse(url);
        let mut out = scheme.map_or_else(String::new, |scheme| format!("{scheme}://"));
        match authority.rsplit_once('@') {
            Some((user, host)) => out.extend([&self.redact(user), "@", host]),
            None => out.push_str(authority),
        }
        let (path, query) = path.find(['?', '#']).map_or((path, ""), |at| path.split_at(at));
        out.push_str(path);
        query.split_inclusive(['?', '#', '&', ';']).for_each(|piece| self.redact_parameter(piece, &mut out));
        out
    }

    /// Appends one `name=value` of a query and the separator after it. If the value in the query is secret, replaces it
    /// by a placeholder.
    fn redact_parameter(&mut self, piece: &str, out: &mut String) {
        let (parameter, end) = match piece.char_indices().last() {
            Some((at, '?' | '#' | '&' | ';')) => piece.split_at(at),
            _ => (piece, ""),
        };
        match parameter.split_once('=') {
            Some((name, value)) if is_secret_parameter(name, value) => out.extend([name, "=", &self.redact(value)]),
            _ => out.push_str(parameter),
        }
        out.push_str(end);
    }

    /// Replaces the secrets in one word of a command line. The word may be a curl command, a header with a secret name,
    /// a URL, or a text that contains a known secret.
    pub fn redact_word(&mut self, word: &str) -> String {
        if let Some(line) =
            word.strip_prefix("--curl=").or(Some(word)).filter(|line| line.trim_start().starts_with("curl "))
        {
            return format!("{}{}", &word[..word.len() - line.len()], self.redact(line));
        }
        let header = word.strip_prefix("--header=").or(word.strip_prefix("-H")).unwrap_or(word);
        let before = &word[..word.len() - header.len()];
        match header.split_once(':') {
            Some((name, value)) if is_secret_header(name) && !value.trim().is_empty() && !value.contains("$env:") => {
                format!("{before}{name}: {}", self.redact(value.trim()))
            }
            _ if UrlParts::parse(word).scheme.is_some() => {
                let kept = self.redact_url(word);
                self.scrub(&kept)
            }
            // A word of a command line may itself be a whole command (as after --command-a) or a connection string.
            _ if (word.contains(char::is_whitespace) || word.contains("password=")) && !word.contains("$env:") => {
                hide_tokens_of_command(&self.scrub(word))
            }
            _ => self.scrub(word),
        }
    }

    /// Replaces all stored secrets in a text. Also replaces parts of stored secrets that are secret alone, such as the
    /// token after `Bearer` or the value of a cookie.
    pub fn scrub(&self, text: &str) -> String {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for (placeholder, value) in &self.by_placeholder {
            found.push((value, placeholder));
            found.extend(parts(value).map(|part| (part, placeholder.as_str())));
        }
        found.retain(|(value, _)| value.len() >= MIN_SEARCHED_LENGTH);
        found.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        found.into_iter().fold(text.to_string(), |text, (value, placeholder)| text.replace(value, placeholder))
    }

    /// Returns a text in which placeholders are replaced by their values.
    fn reveal(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find(BEGIN) {
            let end = rest[at..].find('>').map_or(rest.len(), |n| at + n + 1);
            let placeholder = &rest[at..end];
            out.push_str(&rest[..at]);
            match self.by_placeholder.get(placeholder) {
                Some(value) => out.push_str(value),
                None => out.push_str(&rest[at..end]),
            }
            rest = &rest[end..];
        }
        out + rest
    }

    /// Replaces the secrets of a protocol: a password, values of secret headers, and values in the query of the path. A
    /// header is secret if it is a well-known secret header, or if `names` contains its name.
    pub(crate) fn redact_protocol(&mut self, protocol: &mut Protocol, names: &[String]) {
        if let Protocol::Postgres { password, .. } = protocol {
            *password = self.redact(password);
        }
        let Some((path, headers)) = protocol.path_and_headers() else { return };
        *path = self.redact_url(path);
        for (name, value) in headers {
            if is_secret_header(name) || names.iter().any(|n| n.eq_ignore_ascii_case(name)) {
                *value = self.redact(value);
            }
        }
    }

    /// Replaces the secrets of a set of requests: headers, queries and bodies.
    pub(crate) fn redact_requests(&mut self, set: &mut RequestSet, names: &[String]) {
        for request in &mut set.requests {
            request.path = self.redact_url(&request.path);
            for (name, value) in &mut request.headers {
                if is_secret_header(name) || names.iter().any(|n| n.eq_ignore_ascii_case(name)) {
                    *value = self.redact(value);
                }
            }
            (request.body, request.body_base64) = (self.redact(&request.body), self.redact(&request.body_base64));
        }
    }

    /// Returns the number of data rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Keeps the data rows of a set of requests in memory.
    pub fn set_rows(&mut self, rows: Vec<Vec<String>>) {
        self.rows = rows;
    }

    /// Replaces the placeholders in a set of requests by their values.
    pub(crate) fn reveal_requests(&self, set: &mut RequestSet) {
        if let Some(data) = set.data.as_mut().filter(|data| data.rows.is_empty()) {
            data.rows.clone_from(&self.rows);
        }
        for request in &mut set.requests {
            request.path = self.reveal(&request.path);
            request.headers.iter_mut().for_each(|(_, value)| *value = self.reveal(value));
            (request.body, request.body_base64) = (self.reveal(&request.body), self.reveal(&request.body_base64));
        }
    }

    /// Replaces the placeholders in a protocol's settings by their values, for making requests.
    pub(crate) fn reveal_protocol(&self, protocol: &mut Protocol) {
        if let Protocol::Postgres { password, .. } = protocol {
            *password = self.reveal(password);
        }
        let Some((path, headers)) = protocol.path_and_headers() else { return };
        *path = self.reveal(path);
        headers.iter_mut().for_each(|(_, value)| *value = self.reveal(value));
    }
}

/// Returns the salt of this process: two random keys of the standard library's hash maps.
fn salt() -> &'static [u8; 16] {
    static SALT: OnceLock<[u8; 16]> = OnceLock::new();
    SALT.get_or_init(|| {
        let word = || RandomState::new().build_hasher().finish();
        (u128::from(word()) << 64 | u128::from(word())).to_le_bytes()
    })
}

/// Replaces every placeholder in a text by `<redacted>`. After the replacement, texts of different runs can be
/// compared, although each run has its own placeholders for equal values.
pub fn unify_placeholders(text: &str) -> String {
    let mut pieces = text.split(BEGIN);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |out, piece| out + "<redacted>" + piece.split_once('>').map_or("", |(_, rest)| rest))
}

/// Returns the parts of a secret value that are secret even alone, such as the token after `Bearer`.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let words = value.split([' ', ';', ',']).filter(|word| !word.is_empty());
    let scheme = usize::from(value.contains(' ') && !value.starts_with('=') && !first_has_equals(value));
    let words = words.skip(scheme);
    words.flat_map(|word| [word, word.split_once('=').map_or("", |(_, value)| value)])
}

/// Returns true if the first word is a pair `name=value`, as in a cookie, and not a scheme such as `Bearer`.
fn first_has_equals(value: &str) -> bool {
    value.split([' ', ';']).next().is_some_and(|word| word.contains('='))
}

#[cfg(test)]
mod tests;
