//! Counts of response times for each class (kind) of requests, with the precision of a [`Hist`]. Recording a time
//! touches few cache lines.
//!
//! The counts of dozens of request classes need megabytes, which do not stay in the CPU's caches at a hundred thousand
//! requests per second. To avoid cache misses, each response time is first written to a log. When the log of response
//! times is full, all times in it are counted at once. When all times are counted at once, the CPU can fetch many
//! counts from memory in parallel.

use run::Hist;

/// Maximum number of times in the log. The log is large enough that cache misses overlap, and small enough that
/// counting a full log takes little time.
const LOG_LEN: usize = 128;
/// Number of buckets between a power of two and the next power of two. For times below 2 × `BUCKETS_PER_OCTAVE`
/// nanoseconds, each nanosecond has its own bucket.
const BUCKETS_PER_OCTAVE: usize = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 10;
/// Number of buckets of a request class.
const BUCKETS: usize = bucket(Hist::HIGHEST_NS) + 2;
/// Index of the bucket that counts times above the range of a [`Hist`].
const OVERFLOW_BUCKET: usize = BUCKETS - 1;

/// Returns the index of the bucket in which a [`Hist`] with three significant digits counts a time.
const fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - 1 - OCTAVE_BITS).saturating_sub((ns | 1).leading_zeros());
    ((shift as usize) << OCTAVE_BITS) + (ns >> shift) as usize
}

/// Returns a time that falls into a bucket, nanoseconds.
fn time_of(bucket: usize) -> u64 {
    match (bucket >> OCTAVE_BITS).saturating_sub(1) {
        _ if bucket == OVERFLOW_BUCKET => u64::MAX,
        0 => bucket as u64,
        shift => (((bucket & (BUCKETS_PER_OCTAVE - 1)) + BUCKETS_PER_OCTAVE) as u64) << shift,
    }
}

/// Limits a time to the range of a [`Hist`], and rounds it down by at most a thousandth. The rounding limits the number
/// of different times that are stored.
pub(crate) fn rounded(ns: u64) -> u64 {
    time_of(bucket(ns.clamp(1, Hist::HIGHEST_NS)))
}

/// Counts of response times for all request classes (see the module documentation).
#[derive(Debug)]
pub(crate) struct ClassTimes {
    /// Counts of all request classes. The buckets of a request class are adjacent.
    counts: Box<[u32]>,
    /// Indexes of counts that have overflowed. If a count overflows several times, its index is listed once for each
    /// overflow.
    full: Vec<u32>,
    /// Class and response time of each request that is not yet counted.
    log: Box<[(u32, u64)]>,
    logged: usize,
    /// True if any time has been counted since the last call of [`Self::clear`].
    used: bool,
}

impl ClassTimes {
    /// Creates the counts for `classes` request classes, and writes to all of their memory, so that no page fault
    /// happens later.
    pub(crate) fn new(classes: usize) -> Self {
        let (mut counts, log) = (Vec::new(), vec![(0, 0); if classes > 0 { LOG_LEN } else { 0 }]);
        counts.resize(classes * BUCKETS, 0);
        Self { counts: counts.into(), full: Vec::new(), log: log.into(), logged: 0, used: false }
    }

    /// Sets all counts to 0. If no time was counted, the memory is not touched.
    pub(crate) fn clear(&mut self) {
        self.flush();
        if std::mem::take(&mut self.used) {
            self.counts.fill(0);
            self.full.clear();
        }
    }

    /// Records a response time for a request class.
    #[inline]
    pub(crate) fn record(&mut self, class: u16, ns: u64) {
        if let Some(line) = self.log.get_mut(self.logged) {
            *line = (u32::from(class), ns);
            self.logged += 1;
        }
        if self.logged >= LOG_LEN {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.used |= self.logged > 0;
        for &(class, ns) in &self.log[..self.logged] {
            let bucket = if ns > Hist::HIGHEST_NS { OVERFLOW_BUCKET } else { bucket(ns.max(1)) };
            let at = class as usize * BUCKETS + bucket;
            let Some(count) = self.counts.get_mut(at) else { continue };
            if *count == u32::MAX {
                // A count overflows once in four billion requests of the same request class and bucket.
                self.full.push(at as u32);
                *count = 0;
            }
            *count += 1;
        }
        self.logged = 0;
    }

    /// Returns the histogram of each request class.
    pub(crate) fn hists(mut self) -> Vec<Hist> {
        self.flush();
        let full =
            |at: usize| self.full.iter().filter(|index| **index as usize == at).count() as u64 * u64::from(u32::MAX);
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
        // A time for an unknown request class is not counted.
        times.record(3, 5);
        let found = times.hists();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(
                (run::Summary::of(found), found.saturated()),
                (run::Summary::of(expected), expected.saturated())
            );
            assert_eq!(found.recorded(), expected.recorded());
        }
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_rounded_time_is_at_most_a_thousandth_below() {
        for ns in [0, 1, 999, 2049, 123_456_789, Hist::HIGHEST_NS, u64::MAX] {
            let (found, ns) = (rounded(ns), ns.clamp(1, Hist::HIGHEST_NS));
            assert!(found <= ns && found as f64 >= ns as f64 * 0.999, "{ns} {found}");
        }
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
