//! Escapes that servers write into logs. nginx and Apache write `\xHH`. Apache also writes `\"`, `\\` and `\n`
//! (Apache's documentation of `mod_log_config`, "Format Notes"). HAProxy writes `#HH` (HAProxy's manual, section 8.6).

use std::borrow::Cow;

/// Returns the text of a line. Bytes that are not UTF-8 become the escape `\xHH`.
pub(super) fn line_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text += &format!("\\x{byte:02X}"));
    }
    Cow::Owned(text)
}

/// Undoes the escapes in a path. An escaped quotation mark, or an escaped byte beyond ASCII, becomes `%HH`.
pub(super) fn unescaped(path: &str) -> String {
    undo(path, true)
}

/// Undoes only escapes of the form `\xHH`.
pub(super) fn unescaped_hex(path: &str) -> String {
    undo(path, false)
}

fn undo(path: &str, all: bool) -> String {
    if !path.contains('\\') {
        return path.to_owned();
    }
    let (mut out, mut rest) = (String::with_capacity(path.len()), path);
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let (byte, length) = match escape.as_bytes() {
            [b'x', ..] => hex_byte(&escape[1..]).map_or((b'\\', 0), |byte| (byte, 3)),
            [quote @ (b'"' | b'\\'), ..] if all => (*quote, 1),
            [letter, ..] if all => control(*letter).map_or((b'\\', 0), |byte| (byte, 1)),
            _ => (b'\\', 0),
        };
        push_byte(&mut out, byte);
        rest = &escape[length..];
    }
    out + rest
}

/// Undoes HAProxy's escapes `#HH` in a path.
pub(super) fn unescaped_hash(path: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(path.len()), path);
    while let Some((plain, escape)) = rest.split_once('#') {
        out.push_str(plain);
        let (byte, length) = hex_byte(escape).map_or((b'#', 0), |byte| (byte, 2));
        push_byte(&mut out, byte);
        rest = &escape[length..];
    }
    out + rest
}

/// Parses the two hexadecimal digits with which a text begins; `None` if the text begins otherwise.
fn hex_byte(text: &str) -> Option<u8> {
    let digits = text.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// Returns the control character for the letter of an escape, such as `n` in `\n`; `None` for other letters.
fn control(letter: u8) -> Option<u8> {
    Some(match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'v' => 11,
        _ => return None,
    })
}

/// Adds a byte to a path. A quotation mark or a byte beyond ASCII becomes `%HH`. Control characters stay as they are. A
/// later check refuses a path that contains a control character.
fn push_byte(out: &mut String, byte: u8) {
    match byte {
        b'"' | 0x80.. => *out += &format!("%{byte:02X}"),
        _ => out.push(char::from(byte)),
    }
}

/// Doubles the backslash before `\xHH`, so that a JSON parser reads the escape as text. Returns `None` if `line`
/// contains no `\xHH`.
pub(super) fn hex_escapes_as_text(line: &str) -> Option<String> {
    let (mut out, mut escaped, mut found) = (String::with_capacity(line.len() + 16), false, false);
    for c in line.chars() {
        if escaped && c == 'x' {
            out.push('\\');
            found = true;
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_the_bytes_that_were_asked_for() {
        assert_eq!(unescaped(r#"/a?b=\x22c\x22&d=\"e\""#), "/a?b=%22c%22&d=%22e%22");
        assert_eq!(unescaped(r"/\xD0\x9F\xd1\x80"), "/%D0%9F%D1%80");
        assert_eq!(unescaped(r"/a\\b\x5Cc"), r"/a\b\c");
        assert_eq!(unescaped(r"/a\qb\xZZ\"), r"/a\qb\xZZ\", "no escapes");
        assert_eq!(unescaped(r"/a\n"), "/a\n", "cannot be sent, and is left out later");
        assert_eq!(unescaped(r"/a\xé\x+1"), r"/a\xé\x+1");
    }

    #[test]
    fn escapes_of_haproxy_become_the_bytes_that_were_asked_for() {
        assert_eq!(unescaped_hash("/caf#C3#A9/x?q=#22a#22"), "/caf%C3%A9/x?q=%22a%22");
        assert_eq!(unescaped_hash("/a#+1#é#2"), "/a#+1#é#2", "no escapes");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_kept() {
        let line = line_text(b"GET /caf\xe9/\xff HTTP/1.1");
        assert_eq!(unescaped(&line), "GET /caf%E9/%FF HTTP/1.1");
    }
}
