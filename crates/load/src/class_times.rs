//! Response times by class of request, exact to the bucket of a [`Hist`], at few cache lines a request.
//!
//! A hundred thousand requests a second of dozens of classes touch a megabyte of counts, each at a moment when the rest of the
//! cache is full of requests and answers. So a time is written down in a log, one line after the other, and the log is read
//! when it is full: many counts that are not in the cache are then fetched at once instead of one after the other.

use run::Hist;

/// Times that are read together: their counts are fetched beside one another, and nobody waits for long.
const LOG: usize = 128;
/// As many buckets for each power of two, and twice as many below the first.
const HALF: usize = 1 << HALF_BITS;
const HALF_BITS: u32 = 10;
/// Those of a class; the last one is of what a [`Hist`] does not tell apart.
const BUCKETS: usize = bucket(Hist::HIGHEST_NS) + 2;
const BEYOND: usize = BUCKETS - 1;

/// The bucket that a [`Hist`] of three digits counts a time in.
const fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - 1 - HALF_BITS).saturating_sub((ns | 1).leading_zeros());
    ((shift as usize) << HALF_BITS) + (ns >> shift) as usize
}

/// A time in a bucket, nanoseconds.
fn time_of(bucket: usize) -> u64 {
    match (bucket >> HALF_BITS).saturating_sub(1) {
        _ if bucket == BEYOND => u64::MAX,
        0 => bucket as u64,
        shift => (((bucket & (HALF - 1)) + HALF) as u64) << shift,
    }
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct ClassTimes {
    /// By class and bucket.
    counts: Box<[u32]>,
    /// Places of counts that were full, each as often.
    full: Vec<u32>,
    /// Class and time of each that is not counted yet.
    log: Box<[(u32, u64)]>,
    logged: usize,
    /// Something was counted.
    used: bool,
}

impl ClassTimes {
    /// For so many classes; all memory is written to here.
    pub(crate) fn new(classes: usize) -> Self {
        let (mut counts, log) = (Vec::new(), vec![(0, 0); if classes > 0 { LOG } else { 0 }]);
        counts.resize(classes * BUCKETS, 0);
        Self { counts: counts.into(), full: Vec::new(), log: log.into(), logged: 0, used: false }
    }

    /// Forgets all; the memory of an empty one stays untouched.
    pub(crate) fn clear(&mut self) {
        self.flush();
        if std::mem::take(&mut self.used) {
            self.counts.fill(0);
            self.full.clear();
        }
    }

    /// Counts a time of a class.
    #[inline]
    pub(crate) fn record(&mut self, class: u16, ns: u64) {
        if let Some(line) = self.log.get_mut(self.logged) {
            *line = (u32::from(class), ns);
            self.logged += 1;
        }
        if self.logged >= LOG {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.used |= self.logged > 0;
        for &(class, ns) in &self.log[..self.logged] {
            let bucket = if ns > Hist::HIGHEST_NS { BEYOND } else { bucket(ns.max(1)) };
            let at = class as usize * BUCKETS + bucket;
            let Some(count) = self.counts.get_mut(at) else { continue };
            if *count == u32::MAX {
                // Once in four billion requests of one class that took the same time.
                self.full.push(at as u32);
                *count = 0;
            }
            *count += 1;
        }
        self.logged = 0;
    }

    /// The histogram of each class.
    pub(crate) fn hists(mut self) -> Vec<Hist> {
        self.flush();
        let full = |at: usize| self.full.iter().filter(|of| **of as usize == at).count() as u64 * u64::from(u32::MAX);
        let of_class = |(class, counts): (usize, &[u32])| {
            let mut hist = Hist::new();
            for (bucket, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                hist.record_many_ns(time_of(bucket), u64::from(*count) + full(class * BUCKETS + bucket));
            }
            hist
        };
        self.counts.chunks(BUCKETS).enumerate().map(of_class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_the_histogram_of_its_own_times() {
        let (mut times, mut random) = (ClassTimes::new(3), fastrand::Rng::with_seed(1));
        let mut expected = vec![Hist::new(); 3];
        let edges = [0, 1, 2047, 2048, 2049, 4095, 4096, Hist::HIGHEST_NS, Hist::HIGHEST_NS + 1, u64::MAX];
        let drawn = (0..50_000).map(|_| random.u64(..) >> random.u32(22..64)).collect::<Vec<_>>();
        for round in 0..2 {
            for ns in edges.iter().chain(&drawn) {
                let class = random.u16(0..3);
                times.record(class, *ns);
                if round == 1 {
                    expected[usize::from(class)].record_ns(*ns);
                }
            }
            if round == 0 {
                times.clear();
            }
        }
        // A class that there is not is not counted anywhere.
        times.record(3, 5);
        let found = times.hists();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.summary(), found.saturated()), (expected.summary(), expected.saturated()));
            let buckets = |hist: &Hist| -> Vec<(u64, u64)> {
                hist.histogram().iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect()
            };
            assert_eq!(buckets(found), buckets(expected));
        }
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_count_that_is_full_is_kept() {
        let mut times = ClassTimes::new(1);
        times.counts[bucket(5000)] = u32::MAX;
        times.record(0, 5000);
        times.record(0, 5000);
        assert_eq!(times.hists()[0].len(), u64::from(u32::MAX) + 2);
        assert!(ClassTimes::new(0).hists().is_empty());
    }
}
