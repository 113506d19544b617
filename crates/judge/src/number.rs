//! Re-exports of helpers for numbers: checks, medians, and formats for sentences.

pub(crate) use run::number::prose::{counted, cpus, duration, figure, grew, percent, rate};

pub(crate) use stats::number::{finite, median, median_of_sorted, positive, ratio};
