//! Histograms of durations: nanoseconds in memory, microseconds in figures, HdrHistogram V2 on disk.

mod narrow;
mod payload;

use hdrhistogram::Histogram;

pub use payload::{HistError, short};

/// Longest duration that a histogram stores, nanoseconds: 1 hour. Longer durations are stored as 1 hour, and counted in
/// [`Hist::saturated`].
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Number of significant digits that the histogram keeps. With three digits, stored values are off by at most 0.1 %.
const DIGITS: u8 = 3;

/// A histogram of durations. Recording a duration never allocates, except once in a histogram that was read from a
/// text: such a histogram has memory only for the durations that the text contains.
#[derive(Clone, Debug, PartialEq)]
pub struct Hist {
    inner: Histogram<u64>,
    saturated: u64,
}

impl Default for Hist {
    fn default() -> Self {
        Self::new()
    }
}

impl Hist {
    /// Longest duration that a histogram can store, nanoseconds.
    pub const HIGHEST_NS: u64 = HIGHEST_NS;

    /// Makes an empty histogram. The function allocates and initializes all memory of the histogram (270 KiB).
    pub fn new() -> Self {
        let inner = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS);
        // The library accepts the constant bounds of this histogram; the fallback exists only because the constructor
        // returns a `Result`.
        let inner = inner.unwrap_or_else(|_| Histogram::<u64>::new(DIGITS).unwrap_or_else(|_| unreachable!()));
        Self { inner, saturated: 0 }
    }

    /// Records one duration in nanoseconds.
    #[inline]
    pub fn record_ns(&mut self, ns: u64) {
        if ns > self.inner.high() {
            self.beyond_range(ns, 1);
        }
        self.inner.saturating_record(ns.clamp(1, HIGHEST_NS));
    }

    /// Records `count` durations of one length.
    pub fn record_many_ns(&mut self, ns: u64, count: u64) {
        if ns > self.inner.high() {
            self.beyond_range(ns, count);
        }
        self.inner.saturating_record_n(ns.clamp(1, HIGHEST_NS), count);
    }

    /// Prepares the histogram to record `count` durations that are longer than its range.
    #[cold]
    fn beyond_range(&mut self, ns: u64, count: u64) {
        if ns > HIGHEST_NS {
            self.saturated = self.saturated.saturating_add(count);
        }
        self.widen();
    }

    /// Extends the range to one hour. Only a histogram that was read from a text has a smaller range.
    fn widen(&mut self) {
        if self.inner.high() < HIGHEST_NS {
            let narrow = std::mem::replace(&mut self.inner, Self::new().inner);
            // The new range contains the old one, so the addition cannot fail.
            let _ = self.inner.add(&narrow);
        }
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.max_ns() > self.inner.high() {
            self.widen();
        }
        // The range contains all durations of the other histogram, so the addition cannot fail.
        let _ = self.inner.add(&other.inner);
        self.saturated = self.saturated.saturating_add(other.saturated);
    }

    /// Subtracts all counts of another histogram from the counts of this histogram. If any of the counts would fall
    /// below 0, subtracts nothing.
    pub fn take_back(&mut self, other: &Self) {
        let is_recorded = |at: u64, count: u64| at <= self.max_ns() && self.inner.count_at(at) >= count;
        if other.inner.iter_recorded().all(|v| is_recorded(v.value_iterated_to(), v.count_at_value())) {
            let _ = self.inner.subtract(&other.inner);
        }
    }

    /// Adds the counts of `other`, and consumes `other`. If `self` is empty, `other` replaces it without copying.
    pub fn absorb(&mut self, other: Self) {
        if self.is_empty() && self.saturated == 0 {
            *self = other;
        } else {
            self.merge(&other);
        }
    }

    /// Sets all counts to 0, and keeps the memory of the histogram for later use. If the histogram is already empty,
    /// the function does not touch its memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.inner.reset();
        }
        self.saturated = 0;
    }

    /// Returns the number of durations.
    pub fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Returns true if the histogram contains no durations.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Returns the number of durations longer than one hour.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Returns the `q` quantile (0 to 1) in microseconds; 0 if empty.
    pub fn quantile_us(&self, q: f64) -> f64 {
        self.inner.value_at_quantile(q) as f64 / 1e3
    }

    /// Returns the mean in microseconds; 0 if empty.
    pub fn mean_us(&self) -> f64 {
        self.inner.mean() / 1e3
    }

    /// Returns the share of durations (0 to 1) that are at most `ns` nanoseconds long; 1 if the histogram is empty.
    pub fn share_within_ns(&self, ns: u64) -> f64 {
        if self.is_empty() { 1.0 } else { self.inner.count_between(0, ns.min(HIGHEST_NS)) as f64 / self.len() as f64 }
    }

    /// Returns the `q` quantile (0 to 1) of the waiting time of arrivals at random moments, in microseconds. The result
    /// assumes that the durations follow each other without gaps, as for one closed-loop client. Each arrival waits
    /// until the end of the duration into which it falls. Many random arrivals fall into one long duration, but a
    /// closed-loop client records this duration only once.
    pub fn wait_of_arrivals_us(&self, q: f64) -> f64 {
        let steps: Vec<(f64, f64)> =
            self.inner.iter_recorded().map(|v| (v.value_iterated_to() as f64, v.count_at_value() as f64)).collect();
        // For durations x, the share of arrivals that wait longer than v is a quotient of two sums. The numerator is
        // the sum of (x - v) over all durations x > v, and the denominator is the sum of all durations x.
        let beyond = (1.0 - q.clamp(0.0, 1.0)) * steps.iter().map(|(x, n)| x * n).sum::<f64>();
        let (mut longer, mut sum) = (0.0, 0.0);
        for (x, n) in steps.iter().rev() {
            if longer > 0.0 && sum - longer * x >= beyond {
                break;
            }
            (longer, sum) = (longer + n, sum + x * n);
        }
        if longer > 0.0 { ((sum - beyond) / longer).max(0.0) / 1e3 } else { 0.0 }
    }

    /// Returns the shortest duration in microseconds; 0 if empty.
    pub fn min_us(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.inner.min() as f64 / 1e3 }
    }

    /// Returns the longest duration in microseconds; 0 if empty.
    pub fn max_us(&self) -> f64 {
        self.inner.max() as f64 / 1e3
    }

    /// Returns the longest duration in nanoseconds; 0 if empty.
    pub fn max_ns(&self) -> u64 {
        self.inner.max()
    }

    /// Returns the standard deviation in microseconds, with the number of durations as divisor; 0 if empty.
    pub fn sd_us(&self) -> f64 {
        self.inner.stdev() / 1e3
    }

    /// Returns each recorded duration in nanoseconds, and how often it was recorded. The shortest duration comes first.
    pub fn recorded(&self) -> Vec<(u64, u64)> {
        self.inner.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect()
    }

    /// Returns the width of the histogram bucket that contains a duration; both are in nanoseconds.
    pub fn resolution_ns(&self, ns: u64) -> u64 {
        self.inner.equivalent_range(ns)
    }

    /// Returns points of the percentile curve, as (share of counts, microseconds). The points get closer to each other
    /// as the share approaches 1.
    pub fn curve_us(&self) -> Vec<(f64, f64)> {
        self.inner.iter_quantiles(5).map(|v| (v.quantile_iterated_to(), v.value_iterated_to() as f64 / 1e3)).collect()
    }

    /// Returns the histogram as the library's type, with values in nanoseconds, for writers of other formats.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.inner
    }
}

#[cfg(test)]
mod tests;
