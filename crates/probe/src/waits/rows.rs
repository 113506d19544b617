//! Helper functions that build the rows of a profile of waiting threads.

use std::collections::BTreeMap;

use run::{HolderState, MAX_WAIT_ROWS, ThreadState};

use super::round::WaitKey;

/// Returns a futex's address as text.
pub(super) fn address_text(address: u64) -> String {
    format!("{address:#x}")
}

/// Sorts rows by a size, the largest first, and keeps at most [`MAX_WAIT_ROWS`].
pub(super) fn largest<T>(mut rows: Vec<T>, size: impl Fn(&T) -> f64) -> Vec<T> {
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows.truncate(MAX_WAIT_ROWS);
    rows
}

/// Converts the numbers of readings with each state and key into shares, the largest first.
pub(super) fn holder_rows(counts: &BTreeMap<(ThreadState, WaitKey), u64>) -> Vec<HolderState> {
    let all: u64 = counts.values().sum();
    let row = |((state, key), n): (&(ThreadState, WaitKey), &u64)| HolderState {
        state: *state,
        key: match key {
            WaitKey::Futex(address) => address_text(*address),
            WaitKey::Text(text) => text.to_string(),
            WaitKey::None => String::new(),
        },
        share: *n as f64 / all.max(1) as f64,
    };
    largest(counts.iter().map(row).collect(), |row| row.share)
}
