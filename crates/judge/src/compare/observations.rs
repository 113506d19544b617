//! Observations of both sides of a comparison, and the uncertainty of their difference.

use run::NeededData;

/// One measured value: its logarithm, the index of its run or repeat (`unit`), and its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    pub(super) unit: usize,
    /// Index of the window in its run, or in all runs of repeated comparisons. Windows of two live servers with the
    /// same index ran directly after each other, or at the same time.
    pub(super) turn: usize,
    pub(super) ln: f64,
    /// CPU use of other programs during the window, in CPUs. `None` if the CPU use is unknown, or if the value does not
    /// come from a single window of a live server.
    pub(super) others: Option<f64>,
}

/// Observations of both sides under one condition, the old side first. Each side has at least one observation.
pub(super) type Cell = [Vec<Observation>; 2];

/// Way in which the windows of both sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Alternating windows of two live servers, in one run of loadline. Slow changes of the machine affect both servers
    /// alike.
    InTurns,
    /// Simultaneous windows of two live servers, in one run of loadline. Both servers run at the same time, so they may
    /// disturb each other.
    AtOnce,
    /// Saved runs of several comparisons of live servers, with new processes in each comparison. The runs with the same
    /// index belong to one comparison.
    Repeated,
    /// Saved runs, which were measured separately.
    Kept,
}

impl Pairing {
    /// Returns true if all windows of a server measured the same processes, in one comparison or in several ones.
    pub(super) const fn is_live(self) -> bool {
        matches!(self, Self::InTurns | Self::AtOnce)
    }

    /// Returns true if each window of the old server has a partner: a window of the new server measured directly before
    /// it, directly after it, or at the same time.
    pub(super) const fn has_pairs(self) -> bool {
        !matches!(self, Self::Kept)
    }
}

/// Uncertainty of the difference between two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uncertainty {
    /// Standard error of the difference of the logarithms.
    pub(super) error: f64,
    /// Degrees of freedom of the standard error's estimate.
    pub(super) freedom: f64,
    /// Part of the standard error that does not become smaller with more windows in the same runs.
    pub(super) between: f64,
    /// Kind of data that counts as an observation: windows or runs.
    pub(super) of: NeededData,
}
