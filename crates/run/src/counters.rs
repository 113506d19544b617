//! Names of counters and what one reading of a counter can be.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The dotted name of a counter, for example `tcp.listen_overflows`. Names that this version does not know stay
/// readable, so runs of newer and older versions still load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain count of events or things.
    Count,
    /// Bytes.
    Bytes,
    /// Microseconds.
    Microseconds,
    /// Pages of memory of the kernel's page size.
    Pages,
    /// Bytes per second (a speed or a limit).
    BytesPerSecond,
    /// Processors (may be fractional: a quota).
    Processors,
    /// A part of a whole, 0 to 1.
    Share,
}

impl Unit {
    /// The unit as it is printed behind a figure; empty for plain counts and shares.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "B",
            Self::Microseconds => "us",
            Self::Pages => "pages",
            Self::BytesPerSecond => "B/s",
            Self::Processors => "cpus",
            Self::Share => "",
        }
    }
}

/// How two readings of a counter are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Only grows: the difference of two readings is what happened between them.
    Cumulative,
    /// A level: each reading stands for itself.
    Gauge,
}

/// One row of [`crate::COUNTERS`].
#[derive(Clone, Copy, Debug)]
pub struct CounterSpec {
    /// Dotted name.
    pub id: &'static str,
    /// What the instances are (Processor, Process, Interface, …), as in Performance Monitor. Empty instance = the host.
    pub object: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Cumulative or gauge.
    pub kind: Kind,
    /// Where the kernel says it (file and field), and what it means in one sentence.
    pub help: &'static str,
}

/// The row of a counter, or `None` for a name that this version does not know.
pub fn counter(id: &str) -> Option<&'static CounterSpec> {
    crate::COUNTERS.iter().find(|spec| spec.id == id)
}

/// A value, or the reason why there is none. Unknown is never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Reading {
    /// What the source said.
    Value(
        #[serde(deserialize_with = "crate::nan::number")]
        #[schemars(with = "crate::nan::Number")]
        f64,
    ),
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
