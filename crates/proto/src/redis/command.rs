//! Encodes commands that the user writes as text. The encoding is RESP, the protocol of Redis.

use crate::ProtoError;

/// Encodes a line such as `SET key "a value"` as an array of bulk strings. Refuses commands that do not get exactly one
/// answer.
pub(super) fn encode(line: &str) -> Result<Vec<u8>, ProtoError> {
    let wrong = |advice| ProtoError::Invalid { what: "the command", value: line.into(), advice };
    let words = words(line).filter(|words| !words.is_empty()).ok_or_else(|| {
        wrong("close the quotation mark, and write at least one word, such as PING or SET key \"a value\"")
    })?;
    let name = words[0].to_ascii_uppercase();
    if let Some((_, why)) = NOT_ANSWERED_ONCE.iter().find(|(names, _)| names.iter().any(|n| n.as_bytes() == name)) {
        return Err(wrong(why));
    }
    Ok(array(&words))
}

/// Commands that are refused because the server answers them several times, or not at all. If a command has several
/// answers or none, the client could not match answers with requests.
const NOT_ANSWERED_ONCE: &[(&[&str], &str)] = &[
    (
        &["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SYNC", "PSYNC"],
        "give a command with one answer: the server would send messages that no request asked for",
    ),
    (&["QUIT", "SHUTDOWN"], "give a command with which the connection goes on"),
];

/// Encodes an array of bulk strings.
pub fn array(words: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words.iter().map(AsRef::as_ref) {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Splits a line at white space outside of quotation marks, like `redis-cli`. Double quotation marks allow `\n`, `\r`,
/// `\t`, `\a`, `\b` and `\xHH`; single ones allow `\'`. Returns `None` if a quotation mark is not closed.
fn words(line: &str) -> Option<Vec<Vec<u8>>> {
    let (mut all, mut rest) = (Vec::new(), line.trim_start().as_bytes());
    while !rest.is_empty() {
        let mut word = Vec::new();
        while let Some((&byte, after)) = rest.split_first().filter(|(byte, _)| !byte.is_ascii_whitespace()) {
            rest = match byte {
                b'"' | b'\'' => quoted(byte, after, &mut word)?,
                byte => {
                    word.push(byte);
                    after
                }
            };
        }
        all.push(word);
        rest = rest.trim_ascii_start();
    }
    Some(all)
}

/// Reads a quoted text up to its closing quotation mark. Returns the rest of the line after the closing quotation mark.
fn quoted<'a>(mark: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match (byte, after) {
            (byte, _) if byte == mark => return Some(after),
            (b'\\', [b'x', high, low, more @ ..]) if mark == b'"' && hex(*high, *low).is_some() => {
                word.extend(hex(*high, *low));
                rest = more;
            }
            (b'\\', [letter, more @ ..]) if mark == b'"' || *letter == b'\'' => {
                word.push(match letter {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'a' => 7,
                    b'b' => 8,
                    other => *other,
                });
                rest = more;
            }
            (byte, _) => word.push(byte),
        }
    }
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases follow the examples in the help of `redis-cli`, and the rules of `redis-cli` for quotation marks.
    #[test]
    fn quotation_marks_mean_what_they_mean_to_redis_cli() {
        let of = |line: &str| words(line).unwrap();
        assert_eq!(of(r#"SET k 'a "b" \'c\' \n'"#)[2], br#"a "b" 'c' \n"#);
        assert_eq!(of(r#"SET k "a\n\x00\xfF\"\\\q\xg""#)[2], b"a\n\0\xff\"\\qxg");
        assert_eq!(of("SET  ü\tw ''"), [&b"SET"[..], "ü".as_bytes(), b"w", b""]);
    }

    #[test]
    fn words_become_bulk_strings() {
        assert_eq!(encode("PING").unwrap(), b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(encode(" SET  k \"a b\" \"\"").unwrap(), b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na b\r\n$0\r\n\r\n");
        assert!(encode("").is_err() && encode("GET \"k").is_err() && encode("GET 'k").is_err());
        assert!(encode("subscribe a").is_err() && encode("QUIT").is_err());
    }
}
