//! Encoding of commands from text to RESP.

use crate::ProtoError;

/// Encodes `SET key "a value"` as an array of bulk strings.
pub(super) fn encode(line: &str) -> Result<Vec<u8>, ProtoError> {
    let words = words(line).ok_or(ProtoError::Invalid {
        what: "the command",
        value: line.into(),
        advice: "close the quotation mark, and write at least one word, such as PING or SET key \"a value\"",
    })?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(array(&words))
}

/// Encodes an array of bulk strings.
pub(super) fn array(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// Splits a line at blanks outside quotation marks. Returns `None` for an empty line or an unclosed mark.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut all, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' => (quoted, begun) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if begun {
                    all.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        all.push(word);
    }
    (!quoted && !all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_bulk_strings() {
        assert_eq!(encode("PING").unwrap(), b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(encode(" SET  k \"a b\" \"\"").unwrap(), b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na b\r\n$0\r\n\r\n");
        assert!(encode("").is_err() && encode("GET \"k").is_err());
    }
}
