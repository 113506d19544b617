//! Figures: which are numbers at all, and how sentences write them.

pub(crate) use run::number::prose::{duration, figure, grew, percent, rate};

pub(crate) use stats::number::{finite, median, positive, ratio};
