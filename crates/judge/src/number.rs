//! Figures: which are numbers at all, and how sentences write them.

pub(crate) use run::number::said::{duration, figure, grew, percent, rate};

pub(crate) use stats::number::{finite, median, positive, ratio};

/// Standard deviation of the logarithm by which two runs of one server differ by themselves. They are seldom closer, and the windows of
/// a single run cannot show it.
pub(crate) const BETWEEN_RUNS: f64 = 0.01;
