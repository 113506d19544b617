//! Coarse histograms of durations for the live display, small enough to send ten times per second. Counts never
//! decrease, so the difference of two copies covers the time between them. The results of a trial use [`crate::Hist`]
//! instead of coarse histograms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{LowerBounds, Summary, SummaryFigure, TimeFigure};

/// Upper end of the first bucket, nanoseconds.
const LOWEST_NS: u64 = 1 << LOWEST_BITS;
const LOWEST_BITS: u32 = 10;

/// Counts of durations by bucket; each factor of two has 2 to the power of `PART_BITS` buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u16, u64)>", into = "Vec<(u16, u64)>")]
pub struct Buckets<const PART_BITS: u32>(BTreeMap<u16, u64>);

/// Histogram for live display, with durations accurate to 12.5 %.
pub type CoarseHist = Buckets<3>;

/// Response times in one slot (period) of an experiment, with durations accurate to 1.6 %. Percentiles are more
/// accurate than 1.6 %, because they are interpolated within a bucket.
pub type SlotHist = Buckets<6>;

impl<const PART_BITS: u32> From<Vec<(u16, u64)>> for Buckets<PART_BITS> {
    /// Drops counts whose bucket does not exist, because the histogram comes from untrusted input.
    fn from(pairs: Vec<(u16, u64)>) -> Self {
        Self(pairs.into_iter().filter(|(bucket, _)| usize::from(*bucket) < Self::BUCKETS).collect())
    }
}

impl<const PART_BITS: u32> From<Buckets<PART_BITS>> for Vec<(u16, u64)> {
    fn from(hist: Buckets<PART_BITS>) -> Self {
        hist.0.into_iter().collect()
    }
}

impl<const PART_BITS: u32> Buckets<PART_BITS> {
    const PARTS: u64 = 1 << PART_BITS;

    /// Number of buckets of the histogram. The last bucket holds all durations of 137 s or more. In the slots of an
    /// experiment, the last bucket also counts requests that were never answered.
    pub const BUCKETS: usize = 1 + 27 * Self::PARTS as usize + 1;

    /// Returns the index of the bucket for a duration in nanoseconds. The returned index is less than
    /// [`Buckets::BUCKETS`].
    #[inline]
    pub fn bucket(ns: u64) -> usize {
        if ns < LOWEST_NS {
            return 0;
        }
        let bits = 63 - ns.leading_zeros();
        let part = (ns >> (bits - PART_BITS)) & (Self::PARTS - 1);
        let at = 1 + u64::from(bits - LOWEST_BITS) * Self::PARTS + part;
        (at as usize).min(Self::BUCKETS - 1)
    }

    /// Makes a histogram from a list with the count of each bucket, in order.
    pub fn of(counts: impl IntoIterator<Item = u64>) -> Self {
        Self((0..).zip(counts).filter(|(_, n)| *n > 0).collect())
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, n) in &other.0 {
            let sum = self.0.entry(*bucket).or_default();
            *sum = sum.saturating_add(*n);
        }
    }

    /// Returns how much each count has grown since `earlier`, an earlier copy of the histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bucket: &u16| earlier.0.get(bucket).copied().unwrap_or(0);
        let grown = self.0.iter().map(|(bucket, n)| (*bucket, n.saturating_sub(before(bucket))));
        Self(grown.filter(|(_, n)| *n > 0).collect())
    }

    /// Returns each bucket that is not empty, with its count.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.0.iter().map(|(bucket, n)| (*bucket, *n))
    }

    /// Returns the summary of the durations in the histogram and of `failed` further requests, as precise as the
    /// buckets allow. The further requests were never answered; `ages` has the times until their failures, as far as
    /// these times are known.
    pub fn summary(&self, ages: &Self, failed: u64) -> Summary {
        let unanswered = failed.max(ages.len());
        let percentile = |q: f64| self.percentile(q, ages, failed);
        let known = |q: f64| percentile(q).lowest().unwrap_or(0.0);
        let shares = [
            (SummaryFigure::Mean, 1.0),
            (SummaryFigure::P50, 0.5),
            (SummaryFigure::P90, 0.9),
            (SummaryFigure::P99, 0.99),
            (SummaryFigure::P999, 0.999),
            (SummaryFigure::Max, 1.0),
        ];
        let bound = |(figure, q): (SummaryFigure, f64)| percentile(q).exact().is_none().then_some(figure);
        let some = !self.is_empty() || unanswered > 0;
        Summary {
            count: self.len(),
            // With unanswered requests, the mean is only a lower bound: the longer of the mean without these requests
            // and the mean with their known times.
            mean: [self, &self.with(ages)].into_iter().filter_map(Self::mean_us).fold(0.0, f64::max),
            min: self.quantile_us(0.0).unwrap_or(0.0),
            p50: known(0.5),
            p90: known(0.9),
            p99: known(0.99),
            p99_9: known(0.999),
            max: known(1.0),
            unanswered,
            at_least: if some { shares.into_iter().filter_map(bound).collect() } else { LowerBounds::default() },
        }
    }

    /// Returns the `q` quantile (0 to 1) of the durations and of `failed` further requests, which count as longer than
    /// all durations. If the quantile belongs to a failed request, returns the longest known lower bound: the longest
    /// duration, or a time until a failure in `ages`.
    pub fn percentile(&self, q: f64, ages: &Self, failed: u64) -> TimeFigure {
        let (answered, failed) = (self.len() as f64, failed.max(ages.len()));
        let rank = q * (answered + failed as f64) / answered;
        // Rounding errors change the rank by about 1e-16, so a rank slightly above 1 counts as 1.
        let known = self.quantile_us(rank.min(1.0)).filter(|_| answered > 0.0 && rank <= 1.0 + 1e-12);
        if let Some(us) = known {
            return TimeFigure::Exact(us);
        }
        let longest = self.0.keys().rfind(|bucket| !Self::is_open(**bucket)).copied();
        let bound = longest.max(self.with(ages).bucket_at(q, failed - ages.len()));
        bound.map_or(TimeFigure::Unknown, |bucket| TimeFigure::AtLeast(Self::edges_ns(bucket).0 / 1e3))
    }

    /// Returns the sum of this histogram and another one.
    fn with(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.merge(other);
        sum
    }

    /// Returns the bucket of the `q` quantile of the durations and of `shorter` further, shorter durations. Returns
    /// `None` if the quantile is one of the `shorter` further durations.
    fn bucket_at(&self, q: f64, shorter: u64) -> Option<u16> {
        let rank = (q.clamp(0.0, 1.0) * (self.len() as f64 + shorter as f64)).max(1.0);
        let mut below = shorter as f64;
        if below >= rank {
            return None;
        }
        // Rounding errors may raise the rank of the percentile slightly above the number of all durations.
        let found = self.counts().find(|(_, n)| {
            below += *n as f64;
            below >= rank
        });
        found.map(|(bucket, _)| bucket).or_else(|| self.0.keys().next_back().copied())
    }

    /// Returns true if a bucket has no upper end.
    fn is_open(bucket: u16) -> bool {
        usize::from(bucket) + 1 >= Self::BUCKETS
    }

    /// Returns the mean in microseconds, computed from the middle of each bucket, without the last bucket, which has no
    /// end. Returns `None` if all buckets except the last one are empty.
    pub fn mean_us(&self) -> Option<f64> {
        let middle = |bucket: u16| Self::edges_ns(bucket).0.midpoint(Self::edges_ns(bucket).1) / 1e3;
        let ended = self.counts().filter(|(bucket, _)| !Self::is_open(*bucket));
        let (sum, count) =
            ended.fold((0.0, 0.0), |(sum, all), (bucket, n)| (sum + middle(bucket) * n as f64, all + n as f64));
        (count > 0.0).then(|| sum / count)
    }

    /// Returns the number of durations.
    pub fn len(&self) -> u64 {
        self.0.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Returns true if the histogram contains no durations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the `q` quantile (0 to 1) in microseconds, as precise as the buckets allow. `None` if the histogram is
    /// empty, or if the quantile lies in the last bucket, which has no end.
    pub fn quantile_us(&self, q: f64) -> Option<f64> {
        let all = self.len();
        let rank = (q.clamp(0.0, 1.0) * all as f64).max(1.0);
        let mut below = 0.0;
        for (bucket, n) in self.0.iter().filter(|(_, n)| **n > 0) {
            let (low, high) = Self::edges_ns(*bucket);
            if below + *n as f64 >= rank {
                if Self::is_open(*bucket) {
                    return None;
                }
                return Some((low + (high - low) * (rank - below) / *n as f64) / 1e3);
            }
            below += *n as f64;
        }
        None
    }

    /// Returns the upper end of a bucket, nanoseconds. The last bucket has no upper end.
    pub fn end_ns(bucket: u16) -> f64 {
        Self::edges_ns(bucket).1
    }

    /// Returns the lower and the upper end of a bucket, nanoseconds.
    fn edges_ns(bucket: u16) -> (f64, f64) {
        let parts = Self::PARTS;
        let edge =
            |at: u64| LOWEST_NS as f64 * 2_f64.powi((at / parts) as i32) * (1.0 + (at % parts) as f64 / parts as f64);
        match u64::from(bucket) {
            0 => (0.0, LOWEST_NS as f64),
            n => (edge(n - 1), edge(n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_between_the_edges_of_its_bucket() {
        let mut last = 0;
        for ns in (0..63).flat_map(|bits| [1_u64 << bits, (1 << bits) + (1 << bits) / 3]) {
            let bucket = CoarseHist::bucket(ns);
            assert!(bucket >= last && bucket < CoarseHist::BUCKETS, "{ns}");
            last = bucket;
            let (low, high) = CoarseHist::edges_ns(bucket as u16);
            assert!(
                bucket == CoarseHist::BUCKETS - 1 || (low <= ns as f64 && (ns as f64) < high),
                "{ns}: {low} {high}"
            );
        }
        assert_eq!((CoarseHist::bucket(0), CoarseHist::bucket(u64::MAX)), (0, CoarseHist::BUCKETS - 1));
    }

    #[test]
    fn quantiles_are_near_and_what_happened_between_two_moments_is_a_difference() {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        (1..=1000_u64).for_each(|us| counts[CoarseHist::bucket(us * 1000)] += 1);
        let first = CoarseHist::of(counts.clone());
        let near = |hist: &CoarseHist, q: f64, us: f64| (hist.quantile_us(q).unwrap() - us).abs() < 0.09 * us;
        assert!(near(&first, 0.5, 500.0) && near(&first, 0.99, 990.0), "{:?}", first.quantile_us(0.5));
        (0..100).for_each(|_| counts[CoarseHist::bucket(50_000_000)] += 1);
        let later = CoarseHist::of(counts);
        let between = later.since(&first);
        assert!(between.len() == 100 && near(&between, 0.5, 50_000.0), "{between:?}");
        assert_eq!((later.since(&later).quantile_us(0.5), first.since(&later).len()), (None, 0));
        let detail = Some(Box::new(crate::TickDetail { responses: later, ..crate::TickDetail::default() }));
        let report = crate::AgentReport::Tick(crate::Tick { detail, ..crate::Tick::default() });
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<crate::AgentReport>(&text).unwrap(), report);
    }

    #[test]
    fn unanswered_requests_count_above_every_bucket() {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        counts[CoarseHist::bucket(1_000_000)] = 80;
        let hist = CoarseHist::of(counts.clone());
        let none = CoarseHist::default();
        assert!(hist.percentile(0.8, &none, 20).exact().is_some_and(|us| (us / 1000.0 - 1.0).abs() < 0.09));
        assert!(matches!(hist.percentile(0.81, &none, 20), TimeFigure::AtLeast(us) if us <= 1000.0));
        assert_eq!(none.percentile(0.5, &none, 20), TimeFigure::Unknown);
        let summary = hist.summary(&none, 20);
        assert_eq!((summary.count, summary.unanswered), (80, 20));
        assert!(summary.at_least.contains(SummaryFigure::P99) && !summary.at_least.contains(SummaryFigure::P50));
        assert!(hist.summary(&none, 0).at_least.is_empty() && none.summary(&none, 0).at_least.is_empty());
        counts[CoarseHist::BUCKETS - 1] = 20;
        let open = CoarseHist::of(counts);
        assert_eq!((open.quantile_us(0.9), open.quantile_us(0.5).is_some()), (None, true));
        assert!(open.mean_us().is_some_and(|us| us < 1100.0));
    }

    /// A fifth of the requests timed out after 50 ms. The slowest answer took 19 ms.
    #[test]
    fn a_percentile_of_timeouts_is_at_least_the_timeout() {
        let hist = |ms: u64, n: u64| {
            let mut counts = vec![0; CoarseHist::BUCKETS];
            counts[CoarseHist::bucket(ms * 1_000_000)] = n;
            CoarseHist::of(counts)
        };
        let (answers, timeouts) = (hist(1, 79).with(&hist(19, 1)), hist(50, 20));
        let at_least = |q: f64, failed: u64| match answers.percentile(q, &timeouts, failed) {
            TimeFigure::AtLeast(us) => us / 1e3,
            other => panic!("{other:?}"),
        };
        for q in [0.85, 0.9, 0.99, 1.0] {
            assert!((44.0..=50.0).contains(&at_least(q, 20)), "{q}: {} ms", at_least(q, 20));
        }
        assert!(answers.percentile(0.5, &timeouts, 20).exact().is_some_and(|us| us < 1100.0));
        // Besides the 20 timeouts, 20 requests failed after an unknown time, so half of the failures may have been
        // quick.
        assert!((16.0..=19.0).contains(&at_least(0.7, 40)) && (44.0..=50.0).contains(&at_least(0.9, 40)));
        let summary = answers.summary(&timeouts, 20);
        assert!(summary.unanswered == 20 && summary.p99 > 44_000.0 && summary.mean > 9000.0, "{summary:?}");
        let none = CoarseHist::default();
        assert!(matches!(none.percentile(0.5, &timeouts, 20), TimeFigure::AtLeast(us) if us > 44_000.0));
    }

    #[test]
    fn of_a_slot_times_are_known_to_a_hundredth() {
        let mut counts = vec![0; SlotHist::BUCKETS];
        (1..=10_000_u64).for_each(|us| counts[SlotHist::bucket(us * 1000)] += 1);
        let hist = SlotHist::of(counts);
        for (found, us) in [(hist.quantile_us(0.5), 5000.0), (hist.quantile_us(0.99), 9900.0), (hist.mean_us(), 5000.5)]
        {
            assert!(found.is_some_and(|found| (found / us - 1.0).abs() < 0.01), "{found:?} {us}");
        }
        assert_eq!(SlotHist::default().mean_us(), None);
    }

    #[test]
    fn unknown_buckets_of_a_foreign_histogram_are_dropped() {
        let mut hist: CoarseHist = serde_json::from_str("[[7,18446744073709551615],[9,5],[60000,3]]").unwrap();
        hist.merge(&hist.clone());
        assert_eq!((hist.0.len(), hist.len()), (2, u64::MAX));
        assert!(hist.quantile_us(0.5).is_some());
    }
}
