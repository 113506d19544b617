//! Names of counters, and readings of counters.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::recording::counter_spec::CounterSpec;

/// Dotted name of a counter, for example `tcp.listen_overflows`. loadline keeps names of counters that it does not
/// know, so it can also read runs of other versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CounterId(pub Cow<'static, str>);

impl CounterId {
    /// Makes a counter name; the function can run at compile time.
    pub const fn new(id: &'static str) -> Self {
        Self(Cow::Borrowed(id))
    }

    /// Returns the name of the counter, with dots between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CounterId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the row of a counter, or `None` for a name that this version does not know.
pub fn counter(id: &str) -> Option<&'static CounterSpec> {
    // loadline reads thousands of counters to judge a run, so a map is used: a search through the table for each
    // counter would take long.
    static ROWS: LazyLock<HashMap<&str, &CounterSpec>> =
        LazyLock::new(|| crate::COUNTERS.iter().map(|spec| (spec.id, spec)).collect());
    ROWS.get(id).copied()
}

/// A value, or the reason why there is none. An unknown value is never shown as zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Reading {
    /// Value read from the source.
    Value(#[serde(with = "Figure")] f64),
    /// Missing value with its reason: file missing, no permission, unsupported by the kernel, or a counter that went
    /// backwards.
    Absent {
        /// Reason why there is no value, in one sentence.
        absent: String,
    },
}

impl Reading {
    /// Makes a missing reading with its reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self::Absent { absent: reason.into() }
    }

    /// Returns the value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(v) => Some(*v),
            Self::Absent { .. } => None,
        }
    }
}
