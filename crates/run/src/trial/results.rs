//! What came out of a trial besides rates and latencies.

use serde::{Deserialize, Serialize};

use super::values::{StoredValue, ValueName, Values};

/// What was measured of a trial besides its rates and latencies. An experiment adds values by names of its own; what was not
/// measured is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Results {
    /// What limited this trial, where trials are judged one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitedBy>,
    /// What a trial without requests came to, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Values that an experiment measured.
    #[serde(flatten)]
    pub values: Values,
}

impl Results {
    /// A value that an experiment measured.
    pub fn get<T: StoredValue>(&self, name: ValueName<T>) -> Option<T> {
        self.values.get(name)
    }

    /// Sets a value of an experiment, or takes it away.
    pub fn put<T: StoredValue>(&mut self, name: ValueName<T>, value: impl Into<Option<T>>) {
        self.values.put(name, value);
    }

    /// The same results with a value of an experiment.
    #[must_use]
    pub fn with<T: StoredValue>(mut self, name: ValueName<T>, value: impl Into<Option<T>>) -> Self {
        self.put(name, value);
        self
    }
}

/// What limited one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitedBy {
    /// One id of `BOTTLENECKS`, or what ended its connections.
    pub id: String,
    /// Whether that is surer than a guess.
    pub sure: bool,
}

impl LimitedBy {
    /// From the word of older runs, where a guess has a question mark.
    pub(crate) fn of_word(word: &str) -> Self {
        let id = word.trim_end_matches('?');
        Self { id: id.into(), sure: id == word }
    }
}

impl std::fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.id, if self.sure { "" } else { "?" })
    }
}
