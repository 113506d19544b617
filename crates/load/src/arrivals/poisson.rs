//! Exponential gaps: the superposition of many independent users.

use fastrand::Rng;

use super::exponential;

/// A Poisson process.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    mean_ns: f64,
}

impl Poisson {
    pub(super) fn new(rate_ns: f64) -> Self {
        Self { mean_ns: 1.0 / rate_ns }
    }

    #[inline]
    pub(super) fn gap_ns(&self, rng: &mut Rng) -> f64 {
        exponential(rng) * self.mean_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_spread_of_an_exponential() {
        let (p, mut rng) = (Poisson::new(1e-6), Rng::with_seed(3));
        let gaps: Vec<f64> = (0..100_000).map(|_| p.gap_ns(&mut rng)).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "coefficient of variation {}", variance.sqrt() / mean);
    }
}
