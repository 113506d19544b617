//! Mean and scatter of a sample, the same everywhere.

/// Standard deviations to either side of a normal mean that hold 95 %.
pub(crate) const NORMAL_95: f64 = 1.96;

/// Chance that a standard normal variable is above `z`.
pub(crate) fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// How far two runs of one server are apart by themselves, as a standard deviation of the logarithm: they are seldom closer, and the
/// windows of a single run cannot show it.
pub(crate) const BETWEEN_RUNS: f64 = 0.01;

/// Standard deviation of a logarithm whose 95 % interval this is.
pub(crate) fn ln_sd(low: f64, high: f64) -> f64 {
    (high / low).ln() / (2.0 * NORMAL_95)
}

/// A standard normal deviate: twelve uniform ones less six.
pub(crate) fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// The arithmetic mean; 0 of no values.
pub fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The arithmetic mean, and the sum of the squares of what each value is off it.
pub(crate) fn about_the_mean(values: &[f64]) -> (f64, f64) {
    let mean = average(values);
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// A sample of at least two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// How many.
    pub(crate) n: f64,
    /// Arithmetic mean.
    pub(crate) mean: f64,
    /// Standard deviation of one value, by n - 1.
    pub(crate) sd: f64,
}

impl Sample {
    /// None where there are fewer than two.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let (mean, squares) = about_the_mean(values);
        (values.len() > 1).then(|| Self { n, mean, sd: (squares / (n - 1.0)).sqrt() })
    }

    /// Standard error of the mean.
    pub(crate) fn error(&self) -> f64 {
        self.sd / self.n.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_is_by_one_less_than_there_are() {
        let sample = Sample::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((sample.n, sample.mean), (8.0, 5.0));
        assert!(
            (sample.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12
                && (sample.error() - sample.sd / 8_f64.sqrt()).abs() < 1e-12
        );
        assert_eq!((Sample::of(&[1.0]), Sample::of(&[])), (None, None));
    }
}
