//! Lists and maps of a stranger that are refused at their first element too many, before it takes memory: an empty histogram is 60
//! bytes of text and 270 KiB of memory.

use std::collections::BTreeMap;
use std::fmt::Formatter;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A map of at most so many names.
pub(crate) fn map<'de, const MOST: usize, V, D>(d: D) -> Result<BTreeMap<String, V>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    d.deserialize_map(Map::<MOST, V>(PhantomData))
}

/// A list of at most so many elements.
pub(crate) fn list<'de, const MOST: usize, V, D>(d: D) -> Result<Vec<V>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    d.deserialize_seq(List::<MOST, V>(PhantomData))
}

struct Map<const MOST: usize, V>(PhantomData<V>);

impl<'de, const MOST: usize, V: Deserialize<'de>> Visitor<'de> for Map<MOST, V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "an object of at most {MOST} names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(name) = from.next_key::<String>()? {
            if kept.len() >= MOST {
                return Err(A::Error::custom(format_args!("more than {MOST} names in one object")));
            }
            kept.insert(name, from.next_value()?);
        }
        Ok(kept)
    }
}

struct List<const MOST: usize, V>(PhantomData<V>);

impl<'de, const MOST: usize, V: Deserialize<'de>> Visitor<'de> for List<MOST, V> {
    type Value = Vec<V>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "a list of at most {MOST} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(element) = from.next_element()? {
            if kept.len() >= MOST {
                return Err(A::Error::custom(format_args!("more than {MOST} elements in one list")));
            }
            kept.push(element);
        }
        Ok(kept)
    }
}
