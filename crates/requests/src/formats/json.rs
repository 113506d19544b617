//! Error messages for JSON texts. Each message contains the place of the error and the text there. For a missing key,
//! the message also names a similar key in the file, which may be a misspelling.

use crate::error::{ReadError, place, shown};

/// Maximum length of a key that is compared with a missing key, bytes. A longer key does not count as a misspelling of
/// the missing key.
const MAX_SUGGESTED_KEY: usize = 40;
/// Number of bytes shown before the place of an error.
const CONTEXT_BYTES: usize = 24;

/// A JSON object in a text: the byte index of the object's beginning, and the object's keys with their byte indexes.
struct Object<'a> {
    begin: usize,
    keys: Vec<(usize, &'a str)>,
}

/// Turns an error of serde_json into an error with a place and advice.
pub(super) fn explain(file: &str, text: &str, what: &str, error: &serde_json::Error) -> ReadError {
    let at = index(text, error.line(), error.column());
    let words = words(error);
    let missing = words.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let (at, message) = match missing.and_then(|name| Some((name, object_that_ends(text, at)?))) {
        Some((name, object)) => explain_missing(text, name, &object),
        None => (at.saturating_sub(1), format!("{words}, read at {}", around(text, at.saturating_sub(1)))),
    };
    ReadError { file: file.into(), place: Some(place(text, at)), message: format!("{what}: {message}") }
}

/// Returns the place and the message for an object that lacks a key. The returned place is the place of a similar key
/// in the object. If there is no similar key, the returned place is the beginning of the object.
fn explain_missing(text: &str, name: &str, object: &Object<'_>) -> (usize, String) {
    let keys = object.keys.iter().filter(|(_, key)| key.len() <= MAX_SUGGESTED_KEY);
    let near = run::nearest(name, keys.clone().map(|(_, key)| *key));
    match keys.clone().find(|(_, key)| Some(*key) == near) {
        Some((at, key)) => (*at, format!("there is no key `{name}`, but {key:?}; did you mean `{name}`?")),
        None => (object.begin, format!("there is no key `{name}` in {}", shown(&text[object.begin..]))),
    }
}

/// Returns the index just after the byte at a line and column of a serde_json error. Columns of serde_json count bytes.
fn index(text: &str, line: usize, column: usize) -> usize {
    let begin: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (begin + column).min(text.len())
}

/// Quotes the text around an index, from up to [`CONTEXT_BYTES`] bytes before the index in the same line.
fn around(text: &str, at: usize) -> String {
    let line = text[..boundary(text, at)].rfind('\n').map_or(0, |end| end + 1);
    shown(&text[boundary(text, at.saturating_sub(CONTEXT_BYTES)).max(line)..])
}

/// Returns the last index up to `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Finds the object whose closing brace is the last byte before `end`.
fn object_that_ends(text: &str, end: usize) -> Option<Object<'_>> {
    let (bytes, mut at, mut open) = (text.as_bytes(), 0, Vec::<Object<'_>>::new());
    while at < end {
        match bytes[at] {
            b'"' => {
                let close = end_of_string(bytes, at)?;
                let is_key = bytes[close..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if let Some(object) = open.last_mut().filter(|_| is_key) {
                    object.keys.push((at, text.get(at + 1..close - 1)?));
                }
                at = close;
                continue;
            }
            b'{' => open.push(Object { begin: at, keys: Vec::new() }),
            b'}' => {
                let object = open.pop()?;
                if at + 1 == end {
                    return Some(object);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the index after the closing quote of the string that begins at `at`; `None` if the string is not closed.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut escaped = false;
    let end = bytes[at + 1..].iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map(|end| at + 1 + end + 1)
}

/// Returns the message of a serde_json error without its place, which the caller adds. Adds a likely correction to the
/// message.
pub(super) fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    run::add_suggestion(text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "url")]
        _url: String,
    }

    fn error(text: &str) -> Option<String> {
        let error = serde_json::from_str::<Outer>(text).err()?;
        Some(explain("f", text, "no such file", &error).to_string())
    }

    #[test]
    fn a_missing_key_is_named_with_the_one_that_was_read_and_its_place() {
        let text = "{\"inner\": [{\"url\": \"ü}\\\"\"},\n  {\"é\": {\"url\": 1}, \"ulr\": \"x\"}]}";
        assert_eq!(
            error(text).unwrap(),
            "f: line 2, column 21: no such file: there is no key `url`, but \"ulr\"; did you mean `url`?"
        );
        let far = error("{\"inner\": [\n {\"q\": 1}]}").unwrap();
        assert_eq!(far, "f: line 2, column 2: no such file: there is no key `url` in \"{\\\"q\\\": 1}]}\"");
    }

    #[test]
    fn other_json_errors_name_the_place_and_the_text_there() {
        let said = error("{\"inner\":\n 3}").unwrap();
        assert!(said.starts_with("f: line 2, column 2: ") && said.contains("read at \" 3}\""), "{said}");
        let said = error("{\"inner\": [x]}").unwrap();
        assert!(said.starts_with("f: line 1, column 12: ") && said.contains("[x]}"), "{said}");
        assert!(error("").unwrap().starts_with("f: line 1, column 1: "));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[{}\\[\\]\",:a-cü\\\\\n ]{0,60}", other in ".{0,40}") {
            for text in [text.clone(), format!("{{\"inner\":[{text}"), format!("{{\"inner\":[{{{other}}}]}}")] {
                if let Some(said) = error(&text) {
                    prop_assert!(said.starts_with("f: line "));
                }
            }
        }
    }
}
