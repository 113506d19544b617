//! Counts of the threads that held a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use run::{HolderThread, MAX_HOLDER_ROWS};

use super::round::ThreadSample;
use super::rows::largest;

/// Maximum number of remembered threads per lock. If more threads take turns in holding the lock, no single thread is
/// its typical holder.
const MAX_THREADS: usize = 64;

/// Number of readings in which each thread held a lock.
#[derive(Debug, Default)]
pub(super) struct HolderThreads {
    /// Name and number of readings of each thread, by thread ID.
    threads: BTreeMap<u32, (Arc<str>, u64)>,
    /// Number of readings with a known holder.
    readings: u64,
}

impl HolderThreads {
    /// Adds a reading in which `thread` held the lock.
    pub(super) fn add(&mut self, thread: &ThreadSample) {
        self.readings += 1;
        if self.threads.len() < MAX_THREADS || self.threads.contains_key(&thread.tid) {
            let (name, readings) = self.threads.entry(thread.tid).or_default();
            // A thread may set its name after its start.
            *name = thread.full_name.clone();
            *readings += 1;
        }
    }

    /// Returns the number of remembered threads.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Returns the threads that held the lock most often.
    pub(super) fn rows(&self) -> Vec<HolderThread> {
        let row = |(tid, (name, readings)): (&u32, &(Arc<str>, u64))| HolderThread {
            name: name.to_string(),
            id: *tid,
            readings: *readings,
            share: *readings as f64 / self.readings.max(1) as f64,
        };
        let mut rows = largest(self.threads.iter().map(row).collect(), |row| row.share);
        rows.truncate(MAX_HOLDER_ROWS);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_holds_a_lock_most_often_comes_first() {
        let mut holders = HolderThreads::default();
        let thread = |tid, name: &str| ThreadSample { tid, full_name: name.into(), ..ThreadSample::default() };
        (0..3).for_each(|_| holders.add(&thread(9, "worker-3")));
        (0..1000).for_each(|tid| holders.add(&thread(100 + tid, "other")));
        assert_eq!(holders.len(), MAX_THREADS);
        let rows = holders.rows();
        let first = HolderThread { name: "worker-3".into(), id: 9, readings: 3, share: 3.0 / 1003.0 };
        assert_eq!((rows.len(), &rows[0]), (MAX_HOLDER_ROWS, &first));
    }
}
