//! Confidence interval of the quotient of two uncertain estimates (E. Fieller, *Journal of the Royal Statistical
//! Society B* 16, 1954).

use crate::Interval;

/// Numerator and denominator of a quotient, both estimated, with their uncertainty. In this struct, a variance is the
/// square of half the width of a 95 % interval.
#[derive(Clone, Copy, Debug)]
pub struct Quotient {
    /// Numerator of the quotient.
    pub part: f64,
    /// Denominator of the quotient.
    pub whole: f64,
    /// Variance of the numerator.
    pub part_variance: f64,
    /// Variance of the denominator.
    pub whole_variance: f64,
    /// Covariance of numerator and denominator, on the same scale as the variances.
    pub covariance: f64,
}

impl Quotient {
    /// Returns the interval of `part / whole`, or `None` if the denominator may be zero or is negative.
    pub fn interval(&self) -> Option<Interval> {
        let (a, b) = (self.part, self.whole);
        let square = b * b - self.whole_variance;
        let middle = a * b - self.covariance;
        let rest = a * a - self.part_variance;
        let root = (middle * middle - square * rest).sqrt();
        let known = b > 0.0 && square > 0.0 && root.is_finite();
        known.then(|| Interval { low: (middle - root) / square, high: (middle + root) / square })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_denominator_only_scales_the_numerator() {
        let sure = Quotient { part: 3.0, whole: 2.0, part_variance: 0.25, whole_variance: 0.0, covariance: 0.0 };
        let Interval { low, high } = sure.interval().unwrap();
        assert!((low - 1.25).abs() < 1e-12 && (high - 1.75).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn a_denominator_that_may_be_zero_gives_no_interval() {
        let open = Quotient { part: 3.0, whole: 2.0, part_variance: 0.25, whole_variance: 4.1, covariance: 0.0 };
        assert_eq!(open.interval(), None);
    }
}
