//! Values of both sides that a comparison repeats, and the uncertainty of their difference.

use run::NeededData;

/// One value, as a logarithm, with its run or repeat, and its window in that run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    pub(super) unit: usize,
    /// Index among the windows of its run. Windows of two live servers with equal indices ran one right after the
    /// other.
    pub(super) turn: usize,
    pub(super) ln: f64,
}

/// Observations of both sides under one condition; neither side is empty.
pub(super) type Cell = [Vec<Observation>; 2];

/// Way in which the two sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Alternating windows in one run of loadline: changes between runs affect both sides alike.
    InTurns,
    /// Saved runs, each measured separately.
    Kept,
}

/// Uncertainty of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uncertainty {
    /// Standard error of the difference of the logarithms.
    pub(super) error: f64,
    /// Degrees of freedom of the error.
    pub(super) freedom: f64,
    /// Part of the error that remains however many windows these runs have.
    pub(super) between: f64,
    /// Kind of observation that was repeated.
    pub(super) of: NeededData,
}
