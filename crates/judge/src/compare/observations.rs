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
    /// CPU time that other programs took in the window, in CPUs; `None` if unknown, or if the value is not of a single
    /// window of a live server.
    pub(super) others: Option<f64>,
}

/// Observations of both sides under one condition; neither side is empty.
pub(super) type Cell = [Vec<Observation>; 2];

/// Way in which the two sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Alternating windows in one run of loadline: changes between runs affect both sides alike.
    InTurns,
    /// Windows of two servers at once, in one run of loadline: each server is a part of what disturbs the other one.
    AtOnce,
    /// Saved runs, each measured separately.
    Kept,
}

impl Pairing {
    /// Returns true for windows of two live servers.
    pub(super) const fn is_live(self) -> bool {
        matches!(self, Self::InTurns | Self::AtOnce)
    }
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
