//! A row of the result table: its goal, the function that measures it, and its planned duration in each set of rows.

use std::fmt::{Display, Formatter};

use anyhow::Result;

use crate::compare::Compared;

/// Limit on the ratio of a row: loadline's figure divided by the peer's figure. If a row has no peer, the limit applies
/// to loadline's figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// The ratio must be at most the contained value.
    AtMost(f64),
    /// The ratio must be at least the contained value.
    AtLeast(f64),
}

impl Goal {
    /// Returns true if a ratio meets the goal.
    pub(crate) fn met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(limit) => ratio <= limit,
            Self::AtLeast(limit) => ratio >= limit,
        }
    }
}

impl Display for Goal {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(x) => write!(f, "<= {x}"),
            Self::AtLeast(x) => write!(f, ">= {x}"),
        }
    }
}

/// Set of rows that a benchmark measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowSet {
    /// Rows of `make bench`, which take 20 minutes at most.
    Default,
    /// All rows, which take hours (`make bench-all`).
    All,
}

/// Planned effort for a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Number of rounds. Most rows measure loadline and the peer once in each round.
    pub(crate) rounds: usize,
    /// Planned duration of the whole row, seconds. A row that reuses the measurement of an earlier row has a planned
    /// duration of 1 s.
    pub(crate) seconds: u32,
}

/// Number of rounds of a row that does not set another number.
pub(crate) const ROUNDS: usize = 5;

/// One row of the benchmark table.
pub(crate) struct Row {
    /// ID of the row on the command line.
    pub(crate) id: &'static str,
    /// Description of the row's figure, and of the peer if the row has one.
    pub(crate) what: &'static str,
    /// Goal that the row must meet.
    pub(crate) goal: Goal,
    /// Goal that the row should reach in the long run. The row may miss this goal.
    pub(crate) aim: Option<Goal>,
    /// Effort in the default set; `None` if the row is only in the set of all rows.
    pub(crate) default: Option<Effort>,
    /// Effort in the set of all rows.
    pub(crate) all: Effort,
    /// Function that measures this row. The function's argument is the number of rounds.
    pub(crate) measure: fn(usize) -> Result<Compared>,
}

/// Returns a row that is only in the set of all rows. The row takes `seconds` seconds.
pub(crate) const fn long(
    id: &'static str,
    what: &'static str,
    goal: Goal,
    seconds: u32,
    measure: fn(usize) -> Result<Compared>,
) -> Row {
    Row { id, what, goal, aim: None, default: None, all: Effort { rounds: ROUNDS, seconds }, measure }
}

/// Returns a row that is in both sets, and takes `seconds` seconds in each of the two sets.
pub(crate) const fn row(
    id: &'static str,
    what: &'static str,
    goal: Goal,
    seconds: u32,
    measure: fn(usize) -> Result<Compared>,
) -> Row {
    Row { default: Some(Effort { rounds: ROUNDS, seconds }), ..long(id, what, goal, seconds, measure) }
}

impl Row {
    /// Sets the goal that the row should reach in the long run.
    pub(crate) const fn aim(self, aim: Goal) -> Self {
        Self { aim: Some(aim), ..self }
    }

    /// Sets the number of rounds that the row has in the set of all rows.
    pub(crate) const fn rounds(self, rounds: usize) -> Self {
        Self { all: Effort { rounds, ..self.all }, ..self }
    }

    /// Adds the row to the default set, with `rounds` rounds that take `seconds` seconds in total.
    pub(crate) const fn shortened(self, rounds: usize, seconds: u32) -> Self {
        Self { default: Some(Effort { rounds, seconds }), ..self }
    }

    /// Returns the effort for the row in a set of rows; `None` if the set does not contain the row.
    pub(crate) fn effort(&self, set: RowSet) -> Option<Effort> {
        match set {
            RowSet::Default => self.default,
            RowSet::All => Some(self.all),
        }
    }
}
