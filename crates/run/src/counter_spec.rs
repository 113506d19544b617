//! What the table of counters says of one: its row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
