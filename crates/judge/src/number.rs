//! Re-exports of helpers for numbers: checks, medians, and formats for sentences.

pub(crate) use run::number::prose::{counted, cpus, duration, figure, grew, percent, rate};

pub(crate) use stats::number::{finite, median, median_of_sorted, positive, ratio};

/// Adds up counts of a run. A file may contain any counts, so a sum that is too large for the type stays at its
/// maximum.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
