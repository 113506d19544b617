//! Poisson arrivals: exponentially distributed gaps, as between the requests of many independent users.

use fastrand::Rng;

use super::row::{ArrivalSpec, Gaps, exponential};

/// Row of Poisson arrivals in [`ARRIVALS`](super::ARRIVALS).
pub(super) const SPEC: ArrivalSpec =
    ArrivalSpec { name: "poisson", help: "exponential gaps, as independent users make", parameters: &[] };

/// A Poisson process.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    mean_ns: f64,
}

impl Poisson {
    pub(super) fn new(rate_ns: f64, _: &mut Rng) -> Self {
        Self { mean_ns: 1.0 / rate_ns }
    }
}

impl Gaps for Poisson {
    #[inline]
    fn gap_ns(&mut self, _: f64, rng: &mut Rng) -> f64 {
        exponential(rng) * self.mean_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_spread_of_an_exponential() {
        let mut rng = Rng::with_seed(3);
        let mut p = Poisson::new(1e-6, &mut rng);
        let gaps: Vec<f64> = (0..100_000).map(|_| p.gap_ns(0.0, &mut rng)).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "coefficient of variation {}", variance.sqrt() / mean);
    }
}
