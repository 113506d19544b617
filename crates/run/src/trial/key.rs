//! What a trial was set to.

use serde::{Deserialize, Serialize};

use super::values::{StoredValue, ValueName, Values};
use crate::Intensity;

/// What was set for a trial, besides what the plan says for all of them; what does not apply is absent. An experiment adds
/// values by names of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Key {
    /// Bytes of a record that a request reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u64>,
    /// Clients that wait for each answer: those that an experiment counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Cold connections that are held meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<u32>,
    /// What each load asked for, in the order of the loads; `intensity` is their sum. Older runs have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Intensity>,
    /// The class of requests that was asked for more than the mix has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The line of a chart that this trial is a point of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Values that an experiment sets.
    #[serde(flatten)]
    pub values: Values,
}

impl Key {
    /// A value that an experiment set.
    pub fn get<T: StoredValue>(&self, name: ValueName<T>) -> Option<T> {
        self.values.get(name)
    }

    /// Sets a value of an experiment, or takes it away.
    pub fn put<T: StoredValue>(&mut self, name: ValueName<T>, value: impl Into<Option<T>>) {
        self.values.put(name, value);
    }

    /// The same key with a value of an experiment.
    #[must_use]
    pub fn with<T: StoredValue>(mut self, name: ValueName<T>, value: impl Into<Option<T>>) -> Self {
        self.put(name, value);
        self
    }

    /// All numbers by name.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        let fields = [
            ("record_bytes", self.record_bytes.map(|n| n as f64)),
            ("clients", self.clients.map(f64::from)),
            ("cold", self.cold.map(f64::from)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).chain(self.values.numbers())
    }
}
