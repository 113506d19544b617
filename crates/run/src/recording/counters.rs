//! Names of counters and what one reading of a counter can be.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::recording::counter_spec::CounterSpec;

/// The dotted name of a counter, for example `tcp.listen_overflows`. Names that this version does not know stay
/// readable, so runs of newer and older versions still load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CounterId(pub Cow<'static, str>);

impl CounterId {
    /// A name that is known when the program is compiled.
    pub const fn new(id: &'static str) -> Self {
        Self(Cow::Borrowed(id))
    }

    /// The dotted name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CounterId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The row of a counter, or `None` for a name that this version does not know.
pub fn counter(id: &str) -> Option<&'static CounterSpec> {
    crate::COUNTERS.iter().find(|spec| spec.id == id)
}

/// A value, or the reason why there is none. Unknown is never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Reading {
    /// What the source said.
    Value(#[serde(with = "Figure")] f64),
    /// Why there is no value: file missing, no permission, not on this kernel, counter went backwards.
    Absent {
        /// One sentence.
        absent: String,
    },
}

impl Reading {
    /// An absent reading with its reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self::Absent { absent: reason.into() }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(v) => Some(*v),
            Self::Absent { .. } => None,
        }
    }
}
