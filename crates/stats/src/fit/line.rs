//! A straight line through points, `y = intercept + slope * x`, with 95 % intervals by Student's t. Source: any
//! textbook of ordinary least squares. The errors of y must be independent and have equal variance.

use crate::Interval;
use crate::moments::mean_and_squares;
use crate::number::finite;
use crate::student::t95;

/// A fitted line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Value of y at x = 0.
    pub intercept: f64,
    /// Change of y for one unit of x.
    pub slope: f64,
    /// 95 % interval of the intercept.
    pub intercept_interval: Interval,
    /// 95 % interval of the slope.
    pub slope_interval: Interval,
    /// R²: share of the variance of y that the line explains, 0 to 1; 1 if all y are equal.
    pub r2: f64,
    /// Number of points to which the line was fitted.
    pub points: usize,
}

/// Fits a line to `(x, y)` points by least squares. Returns `None` for fewer than 3 finite points, if all x are equal,
/// or if a result is not finite.
pub fn linear(points: &[(f64, f64)]) -> Option<Line> {
    let p: Vec<(f64, f64)> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    if p.len() < 3 {
        return None;
    }
    let n = p.len() as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = p.iter().copied().unzip();
    let [(mean_x, sxx), (mean_y, syy)] = [x, y].map(|values| mean_and_squares(&values));
    let sxy: f64 = p.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if !(sxx.is_finite() && sxx > 0.0 && syy.is_finite()) {
        return None;
    }
    let slope = finite(sxy / sxx)?;
    let intercept = finite(mean_y - slope * mean_x)?;
    let residual: f64 = p.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    let variance = residual / (n - 2.0);
    let t = t95(p.len() as f64 - 2.0);
    let around = |value: f64, error: f64| {
        let half = t * error;
        Some(Interval { low: finite(value - half)?, high: finite(value + half)? })
    };
    Some(Line {
        intercept,
        slope,
        intercept_interval: around(intercept, (variance * (1.0 / n + mean_x * mean_x / sxx)).sqrt())?,
        slope_interval: around(slope, (variance / sxx).sqrt())?,
        r2: if syy > 0.0 { (1.0 - residual / syy).clamp(0.0, 1.0) } else { 1.0 },
        points: p.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_line_has_intervals_of_zero_width() {
        let line = linear(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12);
        assert!(line.slope_interval.high - line.slope_interval.low < 1e-9);
        assert_eq!(line.r2, 1.0);
    }

    /// The expected values were computed by hand. The sums of squares are Sxx = 10, Sxy = 6 and Syy = 6, so the slope
    /// is 6/10. The variance of the residuals is 2.4/3 = 0.8, so the standard error of the slope is sqrt(0.8/10). R² is
    /// 1 − 2.4/6 = 0.6.
    #[test]
    fn a_fit_equals_the_example_computed_by_hand() {
        let line = linear(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)]).unwrap();
        assert!((line.slope - 0.6).abs() < 1e-12 && (line.intercept - 2.2).abs() < 1e-12);
        let half = (line.slope_interval.high - line.slope_interval.low) / 2.0;
        assert!((half - 3.182 * 0.282_842_7).abs() < 1e-6);
        assert!((line.r2 - 0.6).abs() < 1e-12);
    }

    #[test]
    fn too_few_or_equal_points_give_none() {
        assert!(linear(&[(1.0, 1.0), (2.0, 2.0)]).is_none());
        assert!(linear(&[(1.0, 1.0); 5]).is_none());
        assert!(linear(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, 2.0), (3.0, 3.0)]).is_none());
        assert!(linear(&[(1e308, 1e308), (-1e308, 1e308), (0.0, -1e308), (1.0, 1.0)]).is_none());
    }
}
