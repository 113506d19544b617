//! Percent-encoding of texts in the URLs of databases.

use std::fmt::Write as _;

/// Decodes percent-encoded characters such as `%2F`.
pub(super) fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                high.zip(low).map(|(high, low)| (high * 16 + low) as u8).ok_or("a % in the URL needs two hex digits")?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the URL is not UTF-8".into())
}

/// Percent-encodes all characters except letters, digits, and the characters `-._~/`.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte.into()),
            byte => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}
