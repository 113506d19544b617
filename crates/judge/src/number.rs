//! Figures: which are numbers at all, and how sentences write them.

pub(crate) use run::number::said::{duration, figure, grew, percent, rate};

pub(crate) use stats::number::{finite, median, positive, ratio};
