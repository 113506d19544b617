//! Percentiles of merged histograms. A window of 50 requests has no p99.9, but a hundred such windows together have a
//! p99.9.
//!
//! Under each condition, the histograms of all windows of a run or repeat are merged. The ratio of a percentile is
//! computed from the merged histograms of both sides, and all conditions have equal weights. A comparison treats either
//! each run or each window as one observation. If each window is one observation, the confidence interval comes from a
//! bootstrap (Efron 1979), which merges randomly drawn windows.
//!
//! Each percentile is computed once for the good answers and once for all answers, and the longer result is used. The
//! summary of one run also shows the longer of the two percentiles. Slow refusals thus make a percentile longer, and
//! quick refusals do not make it shorter.

use std::collections::{BTreeMap, BTreeSet};

use run::{AnswerTime, Hist};
use stats::bootstrap::{draw, small_sample_factor};

use super::observations::{Cell, Observation};
use super::windows::{Pair, Window};
use crate::context::single::responses;
use stats::Sample;

/// Number of draws of the bootstrap. With 300 draws, the estimated standard error itself is off by about 4 %.
const DRAWS: usize = 300;

/// Response time of requests that were never answered, nanoseconds. The value is longer than any time in a histogram.
const NEVER_NS: u64 = u64::MAX;

/// Histograms of both sides for each condition, converted once for all percentiles.
pub(super) struct Sides(Vec<[Side; 2]>);

impl Sides {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let both = pairs.iter().map(|pair| [0, 1].map(|side| Side::of(&pair[side])));
        // Leaves out conditions under which a side has no answer, and so no response time.
        Self(both.filter(|both| both.iter().all(|side| !side.complete || side.requests() > 0)).collect())
    }

    /// Returns a quantile of each run or repeat, for each condition. Returns `None` if a window has no histogram, as in
    /// a run whose histograms were removed, or in a run of another tool.
    pub(super) fn observations(&self, quantile: f64) -> Option<Vec<Cell>> {
        let complete = self.0.iter().flatten().all(|side| side.complete);
        let cells = self.0.iter().map(|both| [0, 1].map(|side| both[side].observations(quantile)));
        let cells: Vec<Cell> = cells.collect();
        // If too many requests were never answered, a percentile is infinite. An infinite percentile has no finite
        // ratio, so the function returns `None`.
        let known = cells.iter().flatten().flatten().all(|observation| observation.ln.is_finite());
        (complete && known && !self.0.is_empty()).then_some(cells)
    }

    /// Returns the standard error of the ratio's logarithm that comes from the width of histogram buckets.
    pub(super) fn within_buckets(&self, quantile: f64) -> f64 {
        let square = |side: &Side| side.width(quantile).powi(2) / 12.0;
        self.0.iter().flatten().map(square).sum::<f64>().sqrt() / self.0.len().max(1) as f64
    }

    /// Returns the bootstrap's standard error of the ratio's logarithm. Draws windows within each condition; if
    /// `together` is true, draws pairs of windows. Returns `None` if a side has a single window under some condition.
    pub(super) fn error(&self, quantile: f64, together: bool) -> Option<f64> {
        let fewest = self.0.iter().flatten().map(|side| side.windows.len()).min().filter(|n| *n > 1)? as f64;
        let mut random = fastrand::Rng::with_seed(2);
        let mut apart = |[old, new]: &[Side; 2]| {
            let drawn = new.draw(&mut random);
            let of_old = if together && old.turns == new.turns { drawn.clone() } else { old.draw(&mut random) };
            new.quantile(&drawn, quantile).ln() - old.quantile(&of_old, quantile).ln()
        };
        let draws: Vec<f64> = (0..DRAWS).map(|_| self.0.iter().map(&mut apart).sum()).collect();
        Some(small_sample_factor(fewest) * Sample::of(&draws)?.sd / self.0.len() as f64)
            .filter(|error| error.is_finite())
    }

    /// Returns both sides under the condition with the most requests. The number of requests under a condition is the
    /// number of the side with fewer requests.
    pub(super) fn fullest(&self) -> Option<&[Side; 2]> {
        self.0.iter().max_by_key(|[a, b]| a.requests().min(b.requests()))
    }
}

/// Index and count of each bucket that is not empty.
type Buckets = Vec<(usize, u64)>;

/// Measured windows of one side: for each window, the counts in histogram buckets that are equal for all windows. To
/// merge windows, their counts are added.
pub(super) struct Side {
    /// Upper ends of the buckets, microseconds, in order.
    ends_us: Vec<f64>,
    /// Widths of the buckets, relative to their upper ends.
    widths: Vec<f64>,
    /// For each window, the index and the count of each bucket that is not empty.
    windows: Vec<Buckets>,
    /// The buckets of the refused answers of each window. Empty if no answer was refused.
    refused: Vec<Buckets>,
    /// Index of the run or repeat of each window.
    units: Vec<usize>,
    /// Index of each window in its run or repeat.
    turns: Vec<usize>,
    /// True if every window with answers has a histogram.
    complete: bool,
}

impl Side {
    fn of(windows: &[Window<'_>]) -> Self {
        let counts = |hist: &Hist, unanswered: u64| -> Vec<(u64, u64)> {
            let mut counts = hist.recorded();
            counts.extend(Some((NEVER_NS, unanswered)).filter(|(_, n)| *n > 0));
            counts
        };
        let with_times = || windows.iter().filter(|w| responses(w.trial).is_some());
        let (units, turns) = with_times().map(|w| (w.unit, w.turn)).unzip();
        let kept: Vec<(&Hist, u64)> =
            with_times().filter_map(|w| Some((responses(w.trial)?, w.trial.latency_us.unanswered))).collect();
        let all: Vec<Vec<(u64, u64)>> = kept.iter().map(|(hist, unanswered)| counts(hist, *unanswered)).collect();
        let refused: Vec<Vec<(u64, u64)>> =
            with_times().map(|w| w.trial.refused_times(AnswerTime::LastByte).recorded()).collect();
        let mut places: BTreeMap<u64, usize> = all.iter().chain(&refused).flatten().map(|(ns, _)| (*ns, 0)).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        let end_us = |ns: &u64| if *ns == NEVER_NS { f64::INFINITY } else { *ns as f64 / 1e3 };
        let ends_us = places.keys().map(end_us).collect();
        let width = |ns: u64| kept.first().map_or(0.0, |(hist, _)| hist.resolution_ns(ns) as f64 / ns as f64);
        let widths = places.keys().map(|ns| width(*ns)).collect();
        let answered = windows.iter().filter(|w| w.trial.rates.completed_rate > 0.0).count();
        let buckets = |all: &[Vec<(u64, u64)>]| -> Vec<Buckets> {
            all.iter().map(|w| w.iter().map(|(ns, n)| (places[ns], *n)).collect()).collect()
        };
        let refused = if refused.iter().all(Vec::is_empty) { Vec::new() } else { buckets(&refused) };
        Self { ends_us, widths, complete: all.len() >= answered, windows: buckets(&all), refused, units, turns }
    }

    /// Returns the number of requests in all windows, including unanswered requests.
    pub(super) fn requests(&self) -> u64 {
        self.windows.iter().flatten().map(|(_, n)| n).sum()
    }

    /// Returns a quantile of all merged windows, microseconds; NaN without requests.
    pub(super) fn whole(&self, quantile: f64) -> f64 {
        self.quantile(&self.every(), quantile)
    }

    /// Returns a quantile of each run or repeat, as a logarithm.
    fn observations(&self, quantile: f64) -> Vec<Observation> {
        let units: BTreeSet<usize> = self.units.iter().copied().collect();
        let of = |unit: usize| {
            let windows: Vec<usize> = self.every().into_iter().filter(|at| self.units[*at] == unit).collect();
            Observation { unit, turn: 0, others: None, ln: self.quantile(&windows, quantile).ln() }
        };
        units.into_iter().map(of).collect()
    }

    fn draw(&self, random: &mut fastrand::Rng) -> Vec<usize> {
        draw(self.windows.len(), random)
    }

    /// Returns the width of the bucket that contains a quantile of all merged windows, relative to the quantile.
    fn width(&self, quantile: f64) -> f64 {
        self.place(&self.every(), quantile).map_or(0.0, |at| self.widths[at])
    }

    /// Returns the indexes of all windows.
    fn every(&self) -> Vec<usize> {
        (0..self.windows.len()).collect()
    }

    /// Returns a quantile of the merged windows with the given indexes, microseconds; NaN without requests.
    fn quantile(&self, windows: &[usize], quantile: f64) -> f64 {
        self.place(windows, quantile).map_or(f64::NAN, |at| self.ends_us[at])
    }

    /// Returns the index of the histogram bucket that contains a quantile of the merged windows. The quantile is
    /// computed with and without refused answers, and the longer one counts.
    fn place(&self, windows: &[usize], quantile: f64) -> Option<usize> {
        let mut counts = vec![0u64; self.ends_us.len()];
        let mut merged = |from: &[Buckets]| {
            let buckets = windows.iter().filter_map(|at| from.get(*at)).flatten();
            buckets.for_each(|(at, n)| counts[*at] = counts[*at].saturating_add(*n));
            place_in(&counts, quantile)
        };
        let good = merged(&self.windows);
        if self.refused.is_empty() { good } else { good.max(merged(&self.refused)) }
    }
}

/// Returns the index of the bucket that contains a quantile.
fn place_in(counts: &[u64], quantile: f64) -> Option<usize> {
    let all = crate::number::total(counts.iter().copied());
    let wanted = (quantile * all as f64).ceil().max(1.0) as u64;
    let mut seen = 0_u64;
    counts.iter().position(|n| {
        seen = seen.saturating_add(*n);
        seen >= wanted
    })
}
