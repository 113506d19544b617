//! Trend of a series, tested by the ranks of its values. The test comes from H. Mann (*Econometrica* 13, 1945) and M.
//! Kendall (*Rank Correlation Methods*, 1975). The slope comes from P. Sen (*Journal of the American Statistical
//! Association* 63, 1968). The test and the slope do not require normally distributed noise, and single spikes hardly
//! affect them. The test assumes that neighbouring values are independent. The normal approximation of the test is good
//! for ten points or more. R. Hirsch, J. Slack and R. Smith (*Water Resources Research* 18, 1982) extended the test to
//! several groups of points whose levels differ.

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
    trend_within(&[points])
}

/// Returns the common trend of several groups of `(x, y)` points. Compares only points of the same group, so a
/// difference between the levels of two groups is no trend. Returns `None` if in each group all x or all y are equal.
pub fn trend_within(groups: &[&[(f64, f64)]]) -> Option<Trend> {
    let s: f64 = pairs(groups).map(|(a, b)| sign(b.1 - a.1)).sum();
    let variance: f64 = groups.iter().map(|points| variance(points)).sum();
    let slopes = pairs(groups).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).filter(|slope| slope.is_finite());
    let slope = median(slopes.collect())?;
    (variance > 0.0).then(|| Trend { z: (s - sign(s)) / variance.sqrt(), slope })
}

/// Point of a series: x and y.
type Point = (f64, f64);

/// Returns all pairs of two points of the same group.
fn pairs<'a>(groups: &'a [&'a [Point]]) -> impl Iterator<Item = (Point, Point)> + 'a {
    let of_group = |points: &'a [Point]| {
        let later = move |at: usize| points[at + 1..].iter().map(move |later| (points[at], *later));
        (0..points.len()).flat_map(later)
    };
    groups.iter().flat_map(move |points| of_group(points))
}

/// Returns the sign of a number: 1, 0 or -1.
fn sign(number: f64) -> f64 {
    if number > 0.0 { 1.0 } else { f64::from(-i8::from(number < 0.0)) }
}

/// Returns the variance of the number of growing pairs minus the number of falling pairs, in a group without a trend.
fn variance(points: &[Point]) -> f64 {
    let weight = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|a, b| a == b).map(|equal| weight(equal.len() as f64)).sum();
    (weight(points.len() as f64) - ties) / 18.0
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

    #[test]
    fn groups_at_different_levels_have_no_trend_but_their_own() {
        let line = |from: u32, level: f64, slope: f64| -> Vec<(f64, f64)> {
            (from..from + 12).map(|i| (f64::from(i), level + slope * f64::from(i))).collect()
        };
        let (low, high) = (line(0, 1.0, 0.0), line(12, 2.0, 0.0));
        let together = [&low[..], &high[..]].concat();
        assert!(trend(&together).unwrap().z > 3.29 && trend_within(&[&low, &high]).is_none());
        let (low, high) = (line(0, 1.0, 0.5), line(3, 50.0, 0.5));
        let (alone, both) = (trend(&low).unwrap(), trend_within(&[&low, &high]).unwrap());
        assert!((both.slope - 0.5).abs() < 1e-9 && both.z > 1.3 * alone.z, "{alone:?} {both:?}");
    }
}
