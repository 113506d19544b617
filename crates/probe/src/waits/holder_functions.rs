//! Counts which functions threads execute while they hold a lock. The functions come from the stacks of these threads.

use std::collections::BTreeMap;

use run::{HolderFunction, MAX_HOLDER_ROWS, ThreadState};

use super::rows::largest;

/// Maximum number of locks whose holders are remembered.
pub(super) const MAX_LOCKS: usize = 256;
/// Maximum number of activities and functions that are remembered per lock.
const MAX_FUNCTIONS: usize = 64;

/// ID of the process, and address of the futex.
pub(super) type FutexId = (u32, u64);

/// Number of stacks of holders by activity and function.
type Counts = BTreeMap<(ThreadState, String), u64>;

/// Functions in which holders were, by process ID and address of the futex.
#[derive(Debug, Default)]
pub(super) struct HolderFunctions(BTreeMap<FutexId, Counts>);

impl HolderFunctions {
    /// Adds the function in which a holder of a lock is, while the holder is in `state`.
    pub(super) fn add(&mut self, futex: FutexId, state: ThreadState, function: String) {
        if self.0.len() >= MAX_LOCKS && !self.0.contains_key(&futex) {
            return;
        }
        let (counts, id) = (self.0.entry(futex).or_default(), (state, function));
        if counts.len() < MAX_FUNCTIONS || counts.contains_key(&id) {
            *counts.entry(id).or_default() += 1;
        }
    }

    /// Returns the most frequent functions of the holders of a futex.
    pub(super) fn rows(&self, futex: FutexId) -> Vec<HolderFunction> {
        let Some(counts) = self.0.get(&futex) else { return Vec::new() };
        let all = |state| counts.iter().filter(|((other, _), _)| *other == state).map(|(_, n)| n).sum::<u64>();
        let row = |((state, function), n): (&(ThreadState, String), &u64)| HolderFunction {
            state: *state,
            function: function.clone(),
            stacks: *n,
            share: *n as f64 / all(*state).max(1) as f64,
        };
        let mut rows = largest(counts.iter().map(row).collect(), |row| row.stacks as f64);
        rows.truncate(MAX_HOLDER_ROWS);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_holders_are_counted_by_activity() {
        let (mut functions, lock) = (HolderFunctions::default(), (7, 0x10));
        for (state, function, n) in
            [(ThreadState::Sleep, "pause", 3), (ThreadState::Sleep, "other", 1), (ThreadState::Disk, "write_log", 2)]
        {
            (0..n).for_each(|_| functions.add(lock, state, function.into()));
        }
        let rows: Vec<(ThreadState, String, f64)> =
            functions.rows(lock).into_iter().map(|row| (row.state, row.function, row.share)).collect();
        let expected = [
            (ThreadState::Sleep, "pause".into(), 0.75),
            (ThreadState::Disk, "write_log".into(), 1.0),
            (ThreadState::Sleep, "other".into(), 0.25),
        ];
        assert_eq!(rows, expected);
        assert!(functions.rows((7, 0x20)).is_empty());
    }

    #[test]
    fn a_program_cannot_fill_the_memory_with_functions() {
        let mut functions = HolderFunctions::default();
        for n in 0..1000_u64 {
            functions.add((7, n), ThreadState::Sleep, "pause".into());
            functions.add((7, 0), ThreadState::Sleep, format!("function {n}"));
        }
        assert_eq!((functions.0.len(), functions.0[&(7, 0)].len()), (MAX_LOCKS, MAX_FUNCTIONS));
    }
}
