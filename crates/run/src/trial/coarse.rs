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
mod tests;
