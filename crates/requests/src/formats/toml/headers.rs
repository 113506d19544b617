//! Headers of a request in a TOML file. Errors about headers show the right way to write them.

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};

/// Headers of a request. In the TOML file, headers are a table, or a list of pairs if a name occurs twice.
#[derive(Default)]
pub(super) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Returns the headers as pairs of name and value.
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }
}

/// Maximum number of characters of a wrong header in an error message.
const MAX_QUOTED_CHARS: usize = 60;

/// One header of a list of headers, written as a list of two texts: the header's name and its value. An error about a
/// header in a list shows how to write the two texts.
struct Pair(String, String);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Two;
        impl<'de> Visitor<'de> for Two {
            type Value = Pair;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of two texts, such as [\"Accept\", \"text/html\"]")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pair, E> {
                Err(E::custom(format!("in a list, a header is two texts: headers = [[{}, \"…\"]]", name_in(text))))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pair, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element::<String>()? {
                    texts.push(text);
                }
                let number = texts.len();
                match <[String; 2]>::try_from(texts) {
                    Ok([name, value]) => Ok(Pair(name, value)),
                    Err(texts) => {
                        let name = name_in(texts.first().map_or("", String::as_str));
                        let wrong = format!("a header is two texts, and this one has {number}");
                        Err(serde::de::Error::custom(format!("{wrong}: headers = [[{name}, \"…\"]]")))
                    }
                }
            }
        }
        from.deserialize_any(Two)
    }
}

/// Returns the quoted name of a header that is written as one text, such as `Accept: text/html`.
fn name_in(text: &str) -> String {
    let name = text.split(':').next().unwrap_or_default().trim();
    let short: String = name.chars().take(MAX_QUOTED_CHARS).collect();
    if short.is_empty() { "\"X-A\"".into() } else { format!("{short:?}") }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Headers;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table of headers, such as { Accept = \"text/html\" }")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Headers, E> {
                Err(E::custom(format!(
                    "headers are a table or a list of pairs: headers = [[{}, \"…\"]]",
                    name_in(text)
                )))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut all = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    all.push(pair);
                }
                Ok(Headers(all))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Headers, A::Error> {
                let mut all = Vec::new();
                while let Some(Pair(name, value)) = list.next_element()? {
                    all.push((name, value));
                }
                Ok(Headers(all))
            }
        }
        from.deserialize_any(Pairs)
    }
}
