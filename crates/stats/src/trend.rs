//! Trend of a series, tested by the ranks of its values. The test comes from H. Mann (*Econometrica* 13, 1945) and M.
//! Kendall (*Rank Correlation Methods*, 1975). The slope comes from P. Sen (*Journal of the American Statistical
//! Association* 63, 1968). The test and the slope do not require normally distributed noise, and single spikes hardly
//! affect them. The test assumes that neighbouring values are independent. The normal approximation of the test is good
//! for ten points or more.

use crate::number::median;

/// Trend of a series of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Test statistic: distance from a series without a trend, in standard deviations; positive if the series grows.
    pub z: f64,
    /// Change of y for one unit of x: the median slope of all pairs of points.
    pub slope: f64,
}

/// Returns the trend of `(x, y)` points, or `None` if all x or all y are equal.
pub fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    let n = points.len();
    let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (points[i], points[j])));
    let sign = |d: f64| if d > 0.0 { 1.0 } else { f64::from(-i8::from(d < 0.0)) };
    let s: f64 = pairs().map(|(a, b)| sign(b.1 - a.1)).sum();
    let weight = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut values: Vec<f64> = points.iter().map(|(_, v)| *v).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|a, b| a == b).map(|equal| weight(equal.len() as f64)).sum();
    let variance = (weight(n as f64) - ties) / 18.0;
    let slope = median(pairs().map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).filter(|s| s.is_finite()).collect())?;
    (variance > 0.0).then(|| Trend { z: (s - sign(s)) / variance.sqrt(), slope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_a_trend_despite_a_spike() {
        let mut points: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i), 2.0 * f64::from(i))).collect();
        points[7].1 = 1e6;
        let found = trend(&points).unwrap();
        assert!((found.slope - 2.0).abs() < 1e-9 && found.z > 5.0, "{found:?}");
    }

    #[test]
    fn equal_values_have_no_trend() {
        assert_eq!(trend(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), None);
        assert_eq!(trend(&[]), None);
    }
}
