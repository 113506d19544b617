//! Scatter and correlation of neighbouring values of a series. Changes of the mean and outliers hardly affect them.

use crate::number::median;

/// Distance from the medians of the neighbouring values at which a value becomes an outlier, in standard deviations. In
/// a normal distribution, only 0.3 % of the values are more than three standard deviations from the mean.
const OUTLIER_SD: f64 = 3.0;
/// Number of neighbours on each side of a value. The median of the neighbours decides whether the value is an outlier.
const NEIGHBOURS: usize = 3;
/// Median of the absolute value of a standard normal variable, for estimates of a standard deviation from a median.
const NORMAL_MEDIAN: f64 = 0.6745;
/// Maximum correlation of neighbouring values. A higher estimate may also mean that the mean of the series itself
/// changes with each value.
const MAX_CORRELATION: f64 = 0.9;

/// Differences of neighbouring values, without very large ones, such as a difference across a change of the mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    pub(super) mean_square: f64,
    pub(super) count: f64,
}

impl Neighbours {
    pub(super) fn of(values: &[f64]) -> Self {
        let limit = OUTLIER_SD * spread(values, 1);
        let kept: Vec<f64> = differences(values, 1).filter(|d| *d <= limit).map(|d| d * d).collect();
        Self { mean_square: crate::average(&kept), count: kept.len() as f64 }
    }
}

/// Returns the variance of the mean of `n` values, divided by the variance of one value. `correlation` is the
/// correlation of neighbouring values (AR(1)).
pub(super) fn mean_variance(n: f64, correlation: f64) -> f64 {
    let rest = 1.0 - correlation;
    ((1.0 + correlation) / rest - 2.0 * correlation * (1.0 - correlation.powf(n)) / (n * rest * rest)) / n
}

/// Moves each outlier to the nearer one of two medians: that of the values before the outlier, and that of the values
/// after it. The first value after a change is close to the values that follow, so it is no outlier and stays
/// unchanged.
pub(super) fn without_outliers(values: &[f64], resolution: f64) -> Vec<f64> {
    let limit = OUTLIER_SD * (spread(values, 1) / 2_f64.sqrt()).max(resolution);
    let drawn = |(index, value): (usize, &f64)| {
        let before = &values[index.saturating_sub(NEIGHBOURS)..index];
        let after = &values[index + 1..values.len().min(index + 1 + NEIGHBOURS)];
        let Some((before, after)) = median(before.to_vec()).zip(median(after.to_vec())) else { return *value };
        let (low, high) = (before.min(after), before.max(after));
        if (low - limit..=high + limit).contains(value) { *value } else { value.max(low).min(high) }
    };
    values.iter().enumerate().map(drawn).collect()
}

/// Returns the correlation of neighbouring values, computed from the mean squares of differences at distances one and
/// two. The estimate leaves out very large differences of neighbours, such as a difference across a change of the mean.
/// The estimate also leaves out all differences at distance two that contain such a difference.
pub(super) fn correlation(values: &[f64]) -> f64 {
    let limits = [1, 2].map(|distance| OUTLIER_SD * spread(values, distance));
    let is_usual: Vec<bool> = differences(values, 1).map(|d| d <= limits[0]).collect();
    let near = differences(values, 1).zip(&is_usual).filter(|(_, usual)| **usual).map(|(d, _)| d * d);
    let both = is_usual.windows(2).map(|pair| pair.iter().all(|usual| *usual));
    let far = differences(values, 2).zip(both).filter(|(d, usual)| *usual && *d <= limits[1]).map(|(d, _)| d * d);
    let [near, far] = [near.collect::<Vec<f64>>(), far.collect()].map(|squares| crate::average(&squares));
    let found = far / near - 1.0;
    if found.is_finite() { found.clamp(0.0, MAX_CORRELATION) } else { 0.0 }
}

/// Returns the standard deviation of the differences between values `distance` apart, estimated from the median of
/// their absolute values.
fn spread(values: &[f64], distance: usize) -> f64 {
    median(differences(values, distance).collect()).unwrap_or(0.0) / NORMAL_MEDIAN
}

fn differences(values: &[f64], distance: usize) -> impl Iterator<Item = f64> {
    values.iter().zip(values.iter().skip(distance)).map(|(a, b)| (b - a).abs())
}
