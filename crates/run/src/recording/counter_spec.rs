//! Rows of the table of counters.

use serde::{Deserialize, Serialize};

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain count.
    Count,
    /// The counter counts bytes.
    Bytes,
    /// The counter counts microseconds.
    Microseconds,
    /// The counter counts pages of memory.
    Pages,
    /// Bytes per second: a speed or a limit.
    BytesPerSecond,
    /// The counter counts CPUs, possibly with a fraction, as in a quota.
    Cpus,
    /// The counter is a share of a whole, 0 to 1.
    Share,
}

impl Unit {
    /// Returns the unit as printed after a value; empty for plain counts and shares.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "B",
            Self::Microseconds => "us",
            Self::Pages => "pages",
            Self::BytesPerSecond => "B/s",
            Self::Cpus => "CPUs",
            Self::Share => "",
        }
    }
}

/// Kind of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A sum that only grows, such as the number of received bytes. The difference of two readings is the amount that
    /// was added between them.
    Cumulative,
    /// A level, such as the length of a queue; each reading is a value by itself.
    Gauge,
}

/// Rule that combines the instances of a counter into one value for a side (client or server).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Sum, for cumulative counters and for sizes.
    Sum,
    /// Largest value of all instances, for limits, means and levels that do not add up.
    Largest,
}

impl Aggregation {
    /// Combines the values of all instances; `None` without values.
    pub fn combine(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Self::Sum => values.reduce(|a, b| a + b),
            Self::Largest => values.reduce(f64::max),
        }
    }
}

/// Scope of a counter: the part of the system that the counter describes. For a part of the system that client and
/// server share, such as one machine, both sides read identical values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The processes and connections of one side (client or server).
    Side,
    /// The whole machine: its CPUs and disks.
    Machine,
    /// The network namespace: its interfaces, its listening sockets and its TCP statistics.
    Network,
}

/// Kinds of instances, with the scope of each.
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
    /// Identifier, with dots between its parts.
    pub id: &'static str,
    /// Kind of instance (CPU, Process, Interface, …), as in Windows Performance Monitor. An instance with an empty name
    /// stands for the host.
    pub object: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Cumulative counter or gauge.
    pub kind: Kind,
    /// Rule that combines the instances into one value.
    pub together: Aggregation,
    /// Source of the counter in the kernel (file and field), and its meaning in one sentence.
    pub help: &'static str,
}

impl CounterSpec {
    /// Returns a copy of this row whose value is the largest value of its instances, instead of their sum.
    pub(crate) const fn largest(self) -> Self {
        Self { together: Aggregation::Largest, ..self }
    }

    /// Returns the scope of the counter.
    pub fn scope(&self) -> Scope {
        OBJECTS.iter().find(|(object, _)| *object == self.object).map_or(Scope::Side, |(_, scope)| *scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::COUNTERS;

    #[test]
    fn every_object_has_counters_and_every_counter_an_object() {
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
        assert!(COUNTERS.iter().filter(grows).all(|row| row.together == Aggregation::Sum));
        assert_eq!(Aggregation::Sum.combine([1.0, 2.0].into_iter()), Some(3.0));
        assert_eq!(Aggregation::Largest.combine([1.0, 2.0].into_iter()), Some(2.0));
    }
}
