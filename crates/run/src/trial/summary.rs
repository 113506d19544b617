//! Summary of a distribution of durations.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::skip_empty;
use crate::{CensoredTimes, Hist, LowerBounds, SummaryFigure, TimeFigure};

/// Summary of durations, all in microseconds. Requests that were never answered count as longer than any duration; see
/// [`crate::CensoredTimes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Summary {
    /// Number of durations, without unanswered requests.
    pub count: u64,
    /// Mean of all values.
    #[serde(with = "Figure")]
    pub mean: f64,
    /// Shortest value.
    #[serde(with = "Figure")]
    pub min: f64,
    /// Median of all values.
    #[serde(with = "Figure")]
    pub p50: f64,
    /// 90th percentile of all values.
    #[serde(with = "Figure")]
    pub p90: f64,
    /// 99th percentile of all values.
    #[serde(with = "Figure")]
    pub p99: f64,
    /// 99.9th percentile of all values.
    #[serde(with = "Figure")]
    pub p99_9: f64,
    /// Longest value.
    #[serde(with = "Figure")]
    pub max: f64,
    /// Number of requests that were never answered. Unanswered requests affect all figures of the summary except
    /// `count` and `min`.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unanswered: u64,
    /// Names of the figures that are lower bounds, because too many requests were not answered.
    #[serde(skip_serializing_if = "LowerBounds::is_empty")]
    pub at_least: LowerBounds,
}

impl Summary {
    /// Returns the summary of the durations in a histogram.
    pub fn of(hist: &Hist) -> Self {
        Self {
            count: hist.len(),
            mean: hist.mean_us(),
            min: hist.min_us(),
            p50: hist.quantile_us(0.50),
            p90: hist.quantile_us(0.90),
            p99: hist.quantile_us(0.99),
            p99_9: hist.quantile_us(0.999),
            max: hist.max_us(),
            ..Self::default()
        }
    }

    /// Returns the summary of times that may be censored. If all times are exact (not censored), the figures are those
    /// of `plain`, the summary of the answered requests.
    pub(super) fn of_times(times: &CensoredTimes, plain: Self) -> Self {
        let mut summary = Self { unanswered: times.count_unanswered(), ..plain };
        let percentiles = times.percentiles(SummaryFigure::ALL.map(|figure| figure.share().unwrap_or_default()));
        let figures = SummaryFigure::ALL.into_iter().zip(percentiles);
        for (figure, percentile) in figures {
            let is_mean = figure == SummaryFigure::Mean;
            let found = if is_mean { times.mean() } else { percentile };
            if found.exact().is_none() {
                summary.at_least = summary.at_least.with(figure);
            }
            // An exact mean is that of the histogram itself, because `times` has durations that are rounded up to the
            // ends of the buckets.
            if !is_mean || found.exact().is_none() || times.count_refused() > 0 {
                *summary.field(figure) = found.lowest().unwrap_or(0.0);
            }
        }
        summary
    }

    /// Returns the exact value of a figure; `None` if there are no durations, or if only a lower bound of the figure is
    /// known.
    pub fn exact(&self, figure: SummaryFigure) -> Option<f64> {
        Some(self).filter(|times| times.count > 0)?.figure(figure).exact()
    }

    /// Returns a figure, or its lower bound if the exact figure is unknown.
    pub fn figure(&self, figure: SummaryFigure) -> TimeFigure {
        let mut copy = *self;
        let us = *copy.field(figure);
        match self.at_least.contains(figure) {
            _ if us <= 0.0 && (self.count == 0 || self.at_least.contains(figure)) => TimeFigure::Unknown,
            true => TimeFigure::AtLeast(us),
            false => TimeFigure::Exact(us),
        }
    }

    /// Returns the field that contains a figure.
    fn field(&mut self, figure: SummaryFigure) -> &mut f64 {
        match figure {
            SummaryFigure::Mean => &mut self.mean,
            SummaryFigure::P50 => &mut self.p50,
            SummaryFigure::P90 => &mut self.p90,
            SummaryFigure::P99 => &mut self.p99,
            SummaryFigure::P999 => &mut self.p99_9,
            SummaryFigure::Max => &mut self.max,
        }
    }

    /// Returns the share of requests that were never answered, 0 to 1.
    pub fn unanswered_share(&self) -> f64 {
        let all = self.count as f64 + self.unanswered as f64;
        if all > 0.0 { self.unanswered as f64 / all } else { 0.0 }
    }

    /// Returns true if the summary contains no durations.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
