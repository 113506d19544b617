//! What the table of counters says of one: its row.

use serde::{Deserialize, Serialize};

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
            Self::Processors => "CPUs",
            Self::Share => "",
        }
    }
}

/// How two readings of a counter are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Only grows: the difference of two readings is what happened between them.
    Cumulative,
    /// A level: each reading stands for itself.
    Gauge,
}

/// How the instances of a counter make one figure of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Growth and sizes add up.
    Sum,
    /// Limits, means and levels of one thing do not: the largest stands for all.
    Largest,
}

impl Together {
    /// One figure of all instances.
    pub fn of(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Self::Sum => values.reduce(|a, b| a + b),
            Self::Largest => values.reduce(f64::max),
        }
    }
}

/// Whose figure a counter is: two sides that have this in common read the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of a side's own processes and connections.
    Side,
    /// Of the machine: its CPUs and disks.
    Machine,
    /// Of the network namespace: its interfaces, listeners and TCP.
    Network,
}

/// What the instances of counters are, and whose figure each is.
const OBJECTS: &[(&str, Scope)] = &[
    ("Behind", Scope::Side),
    ("CPU", Scope::Machine),
    ("Cgroup", Scope::Side),
    ("Connection", Scope::Side),
    ("Conntrack", Scope::Network),
    ("Disk", Scope::Machine),
    ("IP", Scope::Network),
    ("Interface", Scope::Network),
    ("Interrupt", Scope::Machine),
    ("Listener", Scope::Network),
    ("Medium", Scope::Network),
    ("Memory", Scope::Machine),
    ("Ports", Scope::Network),
    ("Pressure", Scope::Machine),
    ("Probe", Scope::Side),
    ("Process", Scope::Side),
    ("Qdisc", Scope::Network),
    ("Records", Scope::Side),
    ("Server", Scope::Side),
    ("Slab", Scope::Machine),
    ("Socket", Scope::Network),
    ("Softirq", Scope::Machine),
    ("Softnet", Scope::Machine),
    ("System", Scope::Machine),
    ("TCP", Scope::Network),
    ("Thread", Scope::Side),
    ("UDP", Scope::Network),
];

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
    /// How its instances make one figure.
    pub together: Together,
    /// Where the kernel says it (file and field), and what it means in one sentence.
    pub help: &'static str,
}

impl CounterSpec {
    /// The same row of what does not add up over instances.
    pub(crate) const fn largest(self) -> Self {
        Self { together: Together::Largest, ..self }
    }

    /// Whose figure it is.
    pub fn scope(&self) -> Scope {
        OBJECTS.iter().find(|(object, _)| *object == self.object).map_or(Scope::Side, |(_, scope)| *scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::COUNTERS;

    #[test]
    fn every_object_is_somebodys_and_none_is_told_in_vain() {
        for row in COUNTERS {
            assert!(OBJECTS.iter().any(|(object, _)| *object == row.object), "{}: {}", row.id, row.object);
        }
        for (object, _) in OBJECTS {
            assert!(COUNTERS.iter().any(|row| row.object == *object), "no counter is of {object}");
        }
    }

    #[test]
    fn growth_adds_up_over_instances() {
        let grows = |row: &&CounterSpec| row.kind == Kind::Cumulative;
        assert!(COUNTERS.iter().filter(grows).all(|row| row.together == Together::Sum));
        assert_eq!(Together::Sum.of([1.0, 2.0].into_iter()), Some(3.0));
        assert_eq!(Together::Largest.of([1.0, 2.0].into_iter()), Some(2.0));
    }
}
