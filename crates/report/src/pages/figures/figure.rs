//! What the table of figures says of one: its row.

use run::Trial;

use super::value::Of;
use crate::Unit;
use crate::plot::Scale;

/// One chart of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    /// The experiment, as in `loadline lab NAME`.
    pub(super) experiment: &'static str,
    /// What is to be seen, in a sentence.
    pub(super) title: &'static str,
    /// How it was measured, and what the published points are.
    pub(super) caption: &'static str,
    /// Horizontal axis.
    pub(super) x: Quantity,
    /// Vertical axis.
    pub(super) y: Quantity,
    /// What the lines are.
    pub(super) lines: Lines,
    /// Only these trials.
    pub(super) only: fn(&Trial) -> bool,
    /// Published points: a CSV of `series,x,y`; empty where the source printed none.
    pub(super) published: &'static str,
    /// Published levels that are no points: height and name.
    pub(super) levels: &'static [(f64, &'static str)],
}

/// A quantity on an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    /// The value in a trial.
    pub(super) of: Of,
    /// Name of the axis.
    pub(super) label: &'static str,
    /// How ticks are written.
    pub(super) unit: Unit,
    /// How values become distances.
    pub(super) scale: Scale,
}

/// What the lines of a figure are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lines {
    /// One line of this name over all trials.
    One(&'static str),
    /// The lines that the keys of the trials name.
    ByKey,
    /// One line a value, by name; the value of `y` is not used.
    Values(&'static [(&'static str, Of)]),
}
