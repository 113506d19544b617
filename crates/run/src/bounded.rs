//! Lists and maps that refuse untrusted input with too many elements. Reading stops at the first element beyond the
//! maximum, before memory for it is allocated. Without a maximum, a small file could take much memory: 60 bytes of text
//! can become an empty histogram of 270 KiB.

use std::collections::BTreeMap;
use std::fmt::Formatter;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads a map with at most `MAX` keys.
pub(crate) fn map<'de, const MAX: usize, V, D>(d: D) -> Result<BTreeMap<String, V>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    d.deserialize_map(Map::<MAX, V>(PhantomData))
}

/// Reads a list with at most `MAX` elements.
pub(crate) fn list<'de, const MAX: usize, V, D>(d: D) -> Result<Vec<V>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    d.deserialize_seq(List::<MAX, V>(PhantomData))
}

struct Map<const MAX: usize, V>(PhantomData<V>);

impl<'de, const MAX: usize, V: Deserialize<'de>> Visitor<'de> for Map<MAX, V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "an object of at most {MAX} names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(name) = from.next_key::<String>()? {
            if kept.len() >= MAX {
                return Err(A::Error::custom(format_args!("more than {MAX} names in one object")));
            }
            kept.insert(name, from.next_value()?);
        }
        Ok(kept)
    }
}

struct List<const MAX: usize, V>(PhantomData<V>);

impl<'de, const MAX: usize, V: Deserialize<'de>> Visitor<'de> for List<MAX, V> {
    type Value = Vec<V>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "a list of at most {MAX} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(element) = from.next_element()? {
            if kept.len() >= MAX {
                return Err(A::Error::custom(format_args!("more than {MAX} elements in one list")));
            }
            kept.push(element);
        }
        Ok(kept)
    }
}
