//! Results of a trial besides rates and latencies.

use serde::{Deserialize, Serialize};

use super::values::{StoredValue, ValueName, Values, with_values};

/// Results of a trial besides its rates and latencies. Experiments add values under their own names; a value is absent
/// if it was not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Results {
    /// Bottleneck of this trial; absent unless loadline judges each trial of the run on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitedBy>,
    /// Result of a trial without requests, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Values measured by an experiment.
    #[serde(flatten)]
    pub values: Values,
}

with_values!(Results);

/// Bottleneck of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitedBy {
    /// ID of the bottleneck, one of `BOTTLENECKS`, or the reason why connections ended.
    pub id: String,
    /// True if the verdict is more than a guess.
    pub sure: bool,
}

impl LimitedBy {
    /// Reads the text in which runs of older versions stored the bottleneck of a trial. A question mark in the stored
    /// text means that the bottleneck is only a guess.
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
