//! Counts of responses with an unexpected status, for each status. Servers use few different statuses, so a short list
//! is enough.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// Maximum number of different statuses that are counted. Further statuses are not counted.
const MAX_STATUSES: usize = 16;

/// Counts of responses for each status, in the order in which the statuses first occurred. Unused entries have the
/// status 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatusCounts([(u16, u64); MAX_STATUSES]);

impl StatusCounts {
    /// Counts a response with the given status. In a protocol without statuses, the status is 0 and nothing is counted.
    pub(crate) fn count(&mut self, status: u16) {
        if status > 0
            && let Some(entry) = self.0.iter_mut().find(|entry| entry.0 == status || entry.0 == 0)
        {
            *entry = (status, entry.1 + 1);
        }
    }

    /// Returns the growth of the counts since an earlier copy. A status has the same position in these counts and in
    /// the earlier copy. If a status first occurred after the copy was made, its count in the copy is 0.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|i| (self.0[i].0, self.0[i].1 - earlier.0[i].1)))
    }

    /// Returns the counts, with the name of each status.
    pub(crate) fn by_name(&self) -> BTreeMap<String, u64> {
        let seen = self.0.iter().filter(|(_, n)| *n > 0);
        seen.map(|(status, n)| (run::status_name(*status).into_owned(), *n)).collect()
    }
}

/// Counts per status, which other threads can read.
#[derive(Debug, Default)]
pub(crate) struct PublishedStatusCounts([(AtomicU16, AtomicU64); MAX_STATUSES]);

impl PublishedStatusCounts {
    pub(crate) fn publish(&self, counts: &StatusCounts) {
        for ((status, n), known) in self.0.iter().zip(&counts.0) {
            status.store(known.0, Ordering::Relaxed);
            n.store(known.1, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self) -> BTreeMap<u16, u64> {
        let load = |(status, n): &(AtomicU16, AtomicU64)| (status.load(Ordering::Relaxed), n.load(Ordering::Relaxed));
        self.0.iter().map(load).filter(|(status, n)| *status > 0 && *n > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_counted_apart() {
        let mut counts = StatusCounts::default();
        [404, 429, 404, 0].into_iter().for_each(|status| counts.count(status));
        let earlier = counts;
        [429, 401].into_iter().for_each(|status| counts.count(status));
        let names = |counts: StatusCounts| counts.by_name().into_iter().collect::<Vec<_>>();
        assert_eq!(names(counts.since(&earlier)), [("401".to_owned(), 1), ("429".to_owned(), 1)]);
        let published = PublishedStatusCounts::default();
        published.publish(&counts);
        assert_eq!(published.read(), [(401, 1), (404, 2), (429, 2)].into());
        (1..100).for_each(|status| counts.count(status));
        assert_eq!(counts.by_name().len(), MAX_STATUSES, "the rest is in the sum alone");
    }
}
