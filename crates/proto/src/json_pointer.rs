//! Lookup of JSON pointers (RFC 6901) in a JSON text. The value is found directly in the JSON text, without building a
//! tree.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPointer(Vec<String>);

impl JsonPointer {
    /// Parses a pointer: an empty text for the whole document, otherwise tokens that each begin with a slash.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let tokens = match text {
            "" => Vec::new(),
            _ => text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<_>>()?,
        };
        Some(Self(tokens))
    }

    /// Returns the text of the value at the pointer, if `json` is valid JSON and contains that value. If several
    /// members have the same name, the last one counts.
    pub(crate) fn find<'a>(&self, json: &'a [u8]) -> Option<&'a str> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        let found = Steps(&self.0).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        found.map(RawValue::get)
    }
}

/// Replaces `~1` by `/` and `~0` by `~`; any other `~` is invalid.
fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        text.push(match part.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        text.push_str(&part[1..]);
    }
    Some(text)
}

/// Tokens of the pointer that still have to be followed.
struct Steps<'p>(&'p [String]);

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for Steps<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return <&RawValue>::deserialize(reader).map(Some);
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Steps<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Name(name)) = map.next_key()? {
            if self.0.first().is_some_and(|token| *token == name) {
                found = map.next_value_seed(Steps(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let index = self.0.first().and_then(|token| index(token));
        let mut found = None;
        for at in 0_usize.. {
            if Some(at) == index {
                let Some(value) = seq.next_element_seed(Steps(&self.0[1..]))? else { break };
                found = value;
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

/// Parses the index of an array element: digits without leading zeros.
fn index(token: &str) -> Option<usize> {
    let is_canonical = token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    token.parse().ok().filter(|_| is_canonical)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find<'a>(pointer: &str, json: &'a str) -> Option<&'a str> {
        JsonPointer::parse(pointer)?.find(json.as_bytes())
    }

    /// The cases are the examples in RFC 6901, section 5.
    #[test]
    fn the_examples_of_the_standard_hold() {
        let json = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;
        for (pointer, value) in [
            ("", json),
            ("/foo", r#"["bar", "baz"]"#),
            ("/foo/0", r#""bar""#),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"),
            ("/i\\j", "5"),
            ("/k\"l", "6"),
            ("/ ", "7"),
            ("/m~0n", "8"),
        ] {
            assert_eq!(find(pointer, json), Some(value), "{pointer}");
        }
        for pointer in ["/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/bar", "/m~n", "/m~", "foo", "/foo/0/x"] {
            assert_eq!(find(pointer, json), None, "{pointer}");
        }
    }

    #[test]
    fn text_that_is_no_json_has_no_value() {
        for json in ["", "news", "{\"id\": 1", "{\"id\": 1} x", "[1,]"] {
            assert_eq!(find("/id", json), None, "{json}");
        }
        assert_eq!(find("/id", r#"{"id": 1, "id": 2}"#), Some("2"));
        assert_eq!(find("/a/1/id", r#" {"a": [{"id": 1}, {"id" : -2.5e3 }]} "#), Some("-2.5e3"));
    }

    proptest! {
        #[test]
        fn it_finds_what_a_tree_has(pointer in "(/[a~01/]{0,2}){0,3}", json in r#"[\[\]{}":,a01 ~/]{0,24}"#) {
            let tree = serde_json::from_str::<serde_json::Value>(&json).ok();
            let expected = tree.as_ref().and_then(|tree| tree.pointer(&pointer)).cloned();
            if let Some(parsed) = JsonPointer::parse(&pointer) {
                let found = parsed.find(json.as_bytes()).and_then(|text| serde_json::from_str(text).ok());
                prop_assert_eq!(found, expected);
            }
        }
    }
}
