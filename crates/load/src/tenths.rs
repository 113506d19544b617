//! Counts of ended requests, and of answers that took longer than a limit, for each tenth of a second of the measured
//! window. All memory is allocated before the load begins.

use run::{LateCounts, TENTH_S, Tenths};

/// Maximum length of the measured window for which tenths are counted, in tenths of a second: one hour.
const MAX_TENTHS: usize = 36_000;
/// Time beyond the planned end of the measured window for which tenths are also counted, seconds. The actual measured
/// window may be longer than the planned window.
const SLACK_S: f64 = 5.0;

/// Number of counts in each tenth of a second, without the counts for the limits.
const FIXED_COUNTERS: usize = 3;

/// Counts of one shard (generator thread).
#[derive(Clone, Debug, Default)]
pub(crate) struct TenthCounter {
    limits_ns: Box<[u64]>,
    /// Counts for each tenth of a second: answered requests, the sum of their response times in nanoseconds, and failed
    /// requests. For each limit on the response time, the answers that took longer are also counted per tenth of a
    /// second.
    counts: Box<[u64]>,
    last: usize,
}

impl TenthCounter {
    /// Creates a counter of the responses in each tenth of a second. The counter compares response times with the
    /// limits `limits_us`, microseconds. Without a limit on the response time, nothing is counted.
    pub(crate) fn new(limits_us: &[f64], window_s: f64) -> Self {
        if limits_us.is_empty() {
            return Self::default();
        }
        let tenths = (((window_s + SLACK_S) / TENTH_S) as usize).clamp(1, MAX_TENTHS);
        Self {
            limits_ns: limits_us.iter().map(|us| (us * 1e3) as u64).collect(),
            counts: vec![0; tenths * (FIXED_COUNTERS + limits_us.len())].into(),
            last: 0,
        }
    }

    /// Returns true if requests are counted: only loads with a limit on the response time count them.
    pub(crate) fn counts(&self) -> bool {
        !self.limits_ns.is_empty()
    }

    /// Sets all counts to 0.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.last = 0;
    }

    /// Counts a request that was answered `since_ns` after the start of the measured window, and took `took_ns`.
    #[inline]
    pub(crate) fn count(&mut self, since_ns: u64, took_ns: u64) {
        if self.limits_ns.is_empty() {
            return;
        }
        let each = FIXED_COUNTERS + self.limits_ns.len();
        let tenth = (since_ns / 100_000_000) as usize;
        let Some(counts) = self.counts.get_mut(tenth * each..(tenth + 1) * each) else { return };
        counts[0] += 1;
        counts[1] = counts[1].saturating_add(took_ns);
        counts[FIXED_COUNTERS..]
            .iter_mut()
            .zip(&self.limits_ns)
            .for_each(|(n, limit)| *n += u64::from(took_ns > *limit));
        self.last = self.last.max(tenth + 1);
    }

    /// Counts a request that failed `since_ns` after the start of the measured window.
    pub(crate) fn count_unanswered(&mut self, since_ns: u64) {
        let each = FIXED_COUNTERS + self.limits_ns.len();
        let tenth = (since_ns / 100_000_000) as usize;
        if let Some(count) = self.counts.get_mut(tenth * each + 2).filter(|_| !self.limits_ns.is_empty()) {
            *count += 1;
            self.last = self.last.max(tenth + 1);
        }
    }

    /// Returns the counts, including the counts for the limits `limits_us`, microseconds.
    pub(crate) fn tenths(&self, limits_us: &[f64]) -> Tenths {
        let each = FIXED_COUNTERS + self.limits_ns.len();
        let column = |i: usize| self.counts.chunks(each).take(self.last).map(|c| c[i]).collect::<Vec<_>>();
        if self.last == 0 {
            return Tenths::default();
        }
        let over = limits_us
            .iter()
            .enumerate()
            .map(|(i, &limit_us)| LateCounts { limit_us, late: column(FIXED_COUNTERS + i) });
        let took_us = column(1).into_iter().map(|ns| ns / 1000).collect();
        let unanswered = Some(column(2)).filter(|column| column.iter().any(|n| *n > 0)).unwrap_or_default();
        Tenths { answered: column(0), took_us, unanswered, over: over.collect() }
    }

    /// Returns the limits, in microseconds.
    pub(crate) fn limits_us(&self) -> Vec<f64> {
        self.limits_ns.iter().map(|ns| *ns as f64 / 1e3).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenth_counts_its_own_requests_and_none_after_the_window() {
        let mut counter = TenthCounter::new(&[1000.0, 5000.0], 1.0);
        for (since_ms, took_us) in [(0, 500), (99, 2000), (100, 6000), (1050, 1000), (3_600_000, 9000)] {
            counter.count(since_ms * 1_000_000, took_us * 1000);
        }
        assert!(counter.tenths(&counter.limits_us()).unanswered.is_empty());
        counter.count_unanswered(150_000_000);
        let tenths = counter.tenths(&counter.limits_us());
        assert_eq!(tenths.unanswered[..3], [0, 1, 0]);
        assert_eq!(tenths.answered, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(tenths.took_us[..2], [2500, 6000]);
        assert_eq!(tenths.over(1000.0).unwrap().late[..2], [1, 1]);
        assert_eq!(tenths.over(5000.0).unwrap().late[..2], [0, 1]);
        assert!(TenthCounter::new(&[], 1.0).tenths(&[]).is_empty());
    }
}
