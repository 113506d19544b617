//! Figures: tests for valid numbers, and their form in sentences.

pub(crate) use run::number::prose::{cpus, duration, figure, grew, percent, rate};

pub(crate) use stats::number::{finite, median, positive, ratio};
