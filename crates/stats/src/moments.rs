//! Mean and standard deviation of a sample, and the normal distribution.

/// Half-width of a 95 % interval of a normal distribution, in standard deviations.
pub const NORMAL_95: f64 = 1.96;

/// Returns the probability that a standard normal variable exceeds `z`.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns the standard deviation of the logarithm of a value whose 95 % interval is `low` to `high`.
pub fn ln_sd(low: f64, high: f64) -> f64 {
    (high / low).ln() / (2.0 * NORMAL_95)
}

/// Draws an approximately standard normal number: the sum of twelve uniform numbers minus six. The distribution is
/// accurate within three standard deviations. The absolute value of the drawn number never exceeds six.
pub fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// Returns the arithmetic mean, or 0 if there are no values.
pub fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the arithmetic mean and the sum of the squared deviations from it.
pub fn mean_and_squares(values: &[f64]) -> (f64, f64) {
    let mean = average(values);
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// Statistics of a sample of at least two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of values in the sample.
    pub n: f64,
    /// Arithmetic mean of the sample.
    pub mean: f64,
    /// Standard deviation of one value, with divisor `n - 1`.
    pub sd: f64,
}

impl Sample {
    /// Computes the statistics of a sample. Returns `None` for fewer than two values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let (mean, squares) = mean_and_squares(values);
        (values.len() > 1).then(|| Self { n, mean, sd: (squares / (n - 1.0)).sqrt() })
    }

    /// Returns the standard error of the mean.
    pub fn error(&self) -> f64 {
        self.sd / self.n.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_deviation_has_the_divisor_n_minus_one() {
        let sample = Sample::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((sample.n, sample.mean), (8.0, 5.0));
        assert!(
            (sample.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12
                && (sample.error() - sample.sd / 8_f64.sqrt()).abs() < 1e-12
        );
        assert_eq!((Sample::of(&[1.0]), Sample::of(&[])), (None, None));
    }
}
