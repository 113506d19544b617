//! Sums of the threads that are active while other threads wait for a futex.

use std::collections::BTreeMap;

use super::round::{Round, ThreadSample};

/// Maximum number of remembered threads.
const MAX_ACTIVE: usize = 4096;

/// Sums over the rounds in which threads waited for a futex.
#[derive(Debug, Default)]
pub(super) struct ActiveSum {
    rounds: u64,
    /// Estimated number of rounds in which no thread with the name of a user of the futex was active.
    unheld: f64,
    /// For each thread whose name is also the name of a user of the futex: weighted number of rounds in which the
    /// thread was active.
    active: BTreeMap<u32, f64>,
}

impl ActiveSum {
    /// Adds a sampling round with its active threads. At most `room` more threads may be remembered.
    pub(super) fn add(&mut self, users_at_work: &[&ThreadSample], round: &Round, room: &mut usize) {
        self.rounds += 1;
        for thread in users_at_work {
            if let Some(active) = self.active.get_mut(&thread.tid) {
                *active += round.weight;
            } else if self.active.len() < MAX_ACTIVE && *room > 0 {
                self.active.insert(thread.tid, round.weight);
                *room -= 1;
            }
        }
        // A round that reads only some threads mostly misses the thread that holds a lock. In rounds that read only
        // some threads, the share of the time in which the lock is held is the mean weighted number of active threads.
        // A torn (interrupted) round may find no holder or two, because it reads threads at different moments, but the
        // mean number is right.
        let at_work = users_at_work.len() as f64 * round.weight;
        let is_mean = round.weight > 1.0 || round.is_torn;
        self.unheld += if is_mean { 1.0 - at_work } else { f64::from(u8::from(at_work == 0.0)) };
    }

    /// Returns true if no round was added.
    pub(super) fn is_empty(&self) -> bool {
        self.rounds == 0
    }

    /// Returns the number of remembered threads.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.active.len()
    }

    /// Returns the share of the rounds in which no user of the futex was active, 0 to 1.
    pub(super) fn unheld(&self) -> f64 {
        (self.unheld / self.rounds.max(1) as f64).clamp(0.0, 1.0)
    }

    /// Returns the mean number of active threads for which `is_counted` returns true.
    pub(super) fn mean(&self, is_counted: impl Fn(u32) -> bool) -> f64 {
        let counted = self.active.iter().filter(|(tid, _)| is_counted(**tid));
        counted.map(|(_, sum)| sum).fold(0.0, |a, b| a + b) / self.rounds.max(1) as f64
    }
}
