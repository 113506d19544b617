//! Normally distributed random numbers (Marsaglia's polar method) for the parameters of a workload. Negative values
//! become zero.

use super::Spread;

/// Generator of random numbers for one thread. Equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub(super) struct Deviates {
    random: fastrand::Rng,
    spare: Option<f64>,
}

impl Deviates {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), spare: None }
    }

    /// Draws a value from the distribution `spread`. A negative value becomes zero.
    #[inline]
    pub(super) fn draw(&mut self, spread: Spread) -> f64 {
        if spread.deviation == 0.0 {
            return spread.mean;
        }
        (spread.mean + spread.deviation * self.standard()).max(0.0)
    }

    /// Draws a whole number from the distribution `spread`. Values of `bound` or more become `bound - 1`. `bound` must
    /// not be 0.
    #[inline]
    pub(super) fn below(&mut self, spread: Spread, bound: u64) -> u64 {
        (self.draw(spread).round() as u64).min(bound - 1)
    }

    /// Draws one whole number from each of two distributions. Each number must be below its bound in `bounds`. If a
    /// drawn number is not below its bound, the bound minus 1 is returned instead. Both bounds must be above 0. The
    /// duration of a call does not depend on the two distributions. Each loop iteration of CPU work draws two pages
    /// with this function, so all iterations take about equally long.
    #[inline]
    pub(super) fn pair(&mut self, spreads: [Spread; 2], bounds: [u64; 2]) -> [u64; 2] {
        let standard = self.two();
        let whole = |i: usize| {
            let v = (spreads[i].mean + spreads[i].deviation * standard[i]).max(0.0);
            (v.round() as u64).min(bounds[i] - 1)
        };
        [whole(0), whole(1)]
    }

    fn standard(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let [one, other] = self.two();
        self.spare = Some(one);
        other
    }

    #[inline]
    fn two(&mut self) -> [f64; 2] {
        loop {
            let (u, v) = (2.0 * self.random.f64() - 1.0, 2.0 * self.random.f64() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * s.ln() / s).sqrt();
                return [v * scale, u * scale];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_given_mean_and_deviation_and_are_not_negative() {
        let mut d = Deviates::new(1);
        let spread = Spread { mean: 100.0, deviation: 10.0 };
        let values: Vec<f64> = (0..20_000).map(|_| d.draw(spread)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!((mean - 100.0).abs() < 0.5 && (var.sqrt() - 10.0).abs() < 0.3, "{mean} {}", var.sqrt());
        assert!((0..1000).all(|_| d.draw(Spread { mean: 0.0, deviation: 5.0 }) >= 0.0));
        assert!((0..1000).all(|_| d.below(spread, 90) < 90));
        let pairs: Vec<[u64; 2]> = (0..20_000).map(|_| d.pair([spread, Spread::default()], [90, 7])).collect();
        assert!(pairs.iter().all(|[a, b]| *a < 90 && *b == 0) && pairs.iter().any(|[a, _]| *a < 89));
        assert_eq!(d.draw(Spread { mean: 3.0, deviation: 0.0 }), 3.0);
    }
}
