//! Values of both sides that a comparison repeats, and the uncertainty of their difference.

use run::NeededData;

/// One value, as a logarithm, and its place: the run or repeat, and the window of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    pub(super) unit: usize,
    /// Place among the windows of its run; windows of two live servers with equal places are neighbours in time.
    pub(super) turn: usize,
    pub(super) ln: f64,
}

/// Observations of both sides under one condition; neither side is empty.
pub(super) type Cell = [Vec<Observation>; 2];

/// Way in which the two sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Windows in turns, by one program: changes from run to run affect both sides alike.
    InTurns,
    /// Saved runs, each measured by itself.
    Kept,
}

/// Uncertainty of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uncertainty {
    /// Standard error of the difference of the logarithms.
    pub(super) error: f64,
    /// Degrees of freedom of the error.
    pub(super) freedom: f64,
    /// Part of the error that more windows of these runs do not narrow.
    pub(super) between: f64,
    /// Kind of observation that was repeated.
    pub(super) of: NeededData,
}
