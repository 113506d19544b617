//! Settings of a trial.

use serde::{Deserialize, Serialize};

use super::values::{StoredValue, ValueName, Values, with_values};
use crate::Intensity;

/// Settings of a trial that the plan does not contain. A setting is absent if it does not apply to the trial. An
/// experiment can add further values under its own names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Key {
    /// Size of the record that a request reads, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u64>,
    /// Number of closed-loop clients, in the experiment's way of counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Number of cold connections held during the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<u32>,
    /// Intensity of each load of the trial. The field `intensity` of the trial is the sum over all loads. The list is
    /// empty in runs of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Intensity>,
    /// Class of requests that had a larger share in this trial than in the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Name of the line in the experiment's chart to which this trial adds a point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Values set by an experiment.
    #[serde(flatten)]
    pub values: Values,
}

with_values!(Key);

impl Key {
    /// Returns all numbers among the settings, by name.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        let fields = [
            ("record_bytes", self.record_bytes.map(|n| n as f64)),
            ("clients", self.clients.map(f64::from)),
            ("cold", self.cold.map(f64::from)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).chain(self.values.numbers())
    }
}
