//! Layout of a run in `run.json`: the fields of [`Run`], and `recordings` with the counter samples of all sides. No
//! other module reads or writes the layout of `run.json`.

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Run;
use crate::recording::stored::StoredRecordings;

const RECORDINGS: &str = "recordings";

/// One run: the plan, every trial, and the conclusions.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Run"))]
pub(crate) struct Written<'a> {
    #[serde(flatten, serialize_with = "fields")]
    run: &'a Run,
    /// Counter samples of all sides.
    #[serde(skip_serializing_if = "StoredRecordings::is_empty", default)]
    recordings: StoredRecordings,
}

/// Writes the run's own fields in the order of the struct.
fn fields<S: Serializer>(run: &&Run, s: S) -> Result<S::Ok, S::Error> {
    Run::serialize(run, s)
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        Written { run: self, recordings: StoredRecordings::pack(self) }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(RunVisitor)
    }
}

struct RunVisitor;

impl<'de> Visitor<'de> for RunVisitor {
    type Value = Run;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Run, A::Error> {
        let mut recordings = None;
        let mut run = Run::deserialize(MapAccessDeserializer::new(OtherFields { map, recordings: &mut recordings }))?;
        if let Some(recordings) = recordings {
            recordings.unpack(&mut run).map_err(A::Error::custom)?;
        }
        Ok(run)
    }
}

/// Passes all fields except `recordings` to another reader, and keeps `recordings`. The other reader gets one field at
/// a time, so memory never contains a large run twice.
struct OtherFields<'a, A> {
    map: A,
    recordings: &'a mut Option<StoredRecordings>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for OtherFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(field) = self.map.next_key::<String>()? {
            if field != RECORDINGS {
                return seed.deserialize(field.into_deserializer()).map(Some);
            }
            *self.recordings = Some(self.map.next_value()?);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
