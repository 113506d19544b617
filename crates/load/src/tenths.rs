//! How many requests ended in each tenth of a second of the measured window, and how many of them late. All memory is taken
//! before the load begins.

use run::{Over, TENTH_S, Tenths};

/// Longest window that is counted, in tenths: an hour.
const MOST: usize = 36_000;
/// Windows whose length is not planned are counted for so much longer than planned, seconds.
const SLACK_S: f64 = 5.0;

/// Counters of a tenth before those of the limits.
const FIRST: usize = 2;

/// Counters of one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct TenthCounter {
    limits_ns: Box<[u64]>,
    /// A tenth after another: those that ended, nanoseconds that they took together, then those beyond each limit.
    counts: Box<[u64]>,
    last: usize,
}

impl TenthCounter {
    /// Counts beyond these limits, microseconds; nothing is counted without any.
    pub(crate) fn new(limits_us: &[f64], window_s: f64) -> Self {
        if limits_us.is_empty() {
            return Self::default();
        }
        let tenths = (((window_s + SLACK_S) / TENTH_S) as usize).clamp(1, MOST);
        Self {
            limits_ns: limits_us.iter().map(|us| (us * 1e3) as u64).collect(),
            counts: vec![0; tenths * (FIRST + limits_us.len())].into(),
            last: 0,
        }
    }

    /// Whether anything is counted.
    pub(crate) fn counts(&self) -> bool {
        !self.limits_ns.is_empty()
    }

    /// Forgets all counts.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.last = 0;
    }

    /// One request ended so long after the begin of the window, nanoseconds, and took so long.
    #[inline]
    pub(crate) fn count(&mut self, since_ns: u64, took_ns: u64) {
        if self.limits_ns.is_empty() {
            return;
        }
        let (tenth, each) = ((since_ns / 100_000_000) as usize, FIRST + self.limits_ns.len());
        let Some(counts) = self.counts.get_mut(tenth * each..(tenth + 1) * each) else { return };
        counts[0] += 1;
        counts[1] = counts[1].saturating_add(took_ns);
        counts[FIRST..].iter_mut().zip(&self.limits_ns).for_each(|(n, limit)| *n += u64::from(took_ns > *limit));
        self.last = self.last.max(tenth + 1);
    }

    /// What was counted.
    pub(crate) fn tenths(&self, limits_us: &[f64]) -> Tenths {
        let each = FIRST + self.limits_ns.len();
        let column = |i: usize| self.counts.chunks(each).take(self.last).map(|c| c[i]).collect::<Vec<_>>();
        if self.last == 0 {
            return Tenths::default();
        }
        let over = limits_us.iter().enumerate().map(|(i, &limit_us)| Over { limit_us, late: column(FIRST + i) });
        let took_us = column(1).into_iter().map(|ns| ns / 1000).collect();
        Tenths { answered: column(0), took_us, over: over.collect() }
    }

    /// The limits in microseconds.
    pub(crate) fn limits_us(&self) -> Vec<f64> {
        self.limits_ns.iter().map(|ns| *ns as f64 / 1e3).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenth_has_its_own_and_what_is_beyond_the_window_is_not_counted() {
        let mut counter = TenthCounter::new(&[1000.0, 5000.0], 1.0);
        for (since_ms, took_us) in [(0, 500), (99, 2000), (100, 6000), (1050, 1000), (3_600_000, 9000)] {
            counter.count(since_ms * 1_000_000, took_us * 1000);
        }
        let tenths = counter.tenths(&counter.limits_us());
        assert_eq!(tenths.answered, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(tenths.took_us[..2], [2500, 6000]);
        assert_eq!(tenths.over(1000.0).unwrap().late[..2], [1, 1]);
        assert_eq!(tenths.over(5000.0).unwrap().late[..2], [0, 1]);
        assert!(TenthCounter::new(&[], 1.0).tenths(&[]).is_empty());
    }
}
