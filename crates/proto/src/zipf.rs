//! Random numbers that follow Zipf's law over a finite range. The numbers are drawn by rejection-inversion, which needs
//! a few logarithms per number and no table.
//!
//! Source: W. Hörmann and G. Derflinger, *Rejection-inversion to generate variates from monotone discrete
//! distributions* (1996), figure 3.

use fastrand::Rng;

/// Zipf distribution over `low..=high`. The probability of the `k`-th number is proportional to `k^-s`.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    low: u64,
    n: f64,
    s: f64,
    /// The value H(1.5) - 1 of Hörmann and Derflinger, where H(x) is the integral of x^-s.
    begin: f64,
    /// The value H(n + 0.5) of Hörmann and Derflinger.
    end: f64,
    /// Maximum of the difference k - x at which the number k is accepted without a further check. In the difference k -
    /// x, x is the number drawn, and k is x rounded to a whole number.
    near: f64,
}

impl Zipf {
    /// Creates the distribution. Returns `None` unless `low <= high` and `s` is above 0 and at most 20.
    pub(crate) fn new(low: u64, high: u64, s: f64) -> Option<Self> {
        let n = high.checked_sub(low)?.checked_add(1)? as f64;
        if !(s > 0.0 && s <= 20.0) {
            return None;
        }
        let mut zipf = Self { low, n, s, begin: 0.0, end: 0.0, near: 0.0 };
        zipf.begin = zipf.area(1.5) - 1.0;
        zipf.end = zipf.area(n + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.area(2.5) - 2f64.powf(-s));
        Some(zipf)
    }

    /// Returns H(x), the integral of x^-s.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let exponent = (1.0 - self.s) * log;
        // The value of this expression is (exp(e) - 1) / (1 - s), where e is `exponent`. For s = 1, the expression
        // becomes log(x).
        if exponent.abs() < 1e-8 { log } else { exponent.exp_m1() / (1.0 - self.s) }
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = ((1.0 - self.s) * area).max(-1.0);
        if t.abs() < 1e-8 { area.exp() } else { (t.ln_1p() / (1.0 - self.s)).exp() }
    }

    /// Draws one random number from the distribution.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.end + rng.f64() * (self.begin - self.end);
            let x = self.inverse(area);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.near || area >= self.area(k + 0.5) - k.powf(-self.s) {
                return self.low + (k as u64 - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_law() {
        for s in [0.5, 0.99, 1.0, 1.5] {
            let (zipf, mut rng) = (Zipf::new(10, 109, s).unwrap(), Rng::with_seed(7));
            let (mut counts, all) = ([0_u32; 100], 200_000);
            (0..all).for_each(|_| counts[(zipf.draw(&mut rng) - 10) as usize] += 1);
            let sum: f64 = (1..=100).map(|k| f64::from(k).powf(-s)).sum();
            for k in [1, 2, 3, 10, 50, 100] {
                let expected = f64::from(all) * f64::from(k).powf(-s) / sum;
                let seen = f64::from(counts[k as usize - 1]);
                assert!((seen - expected).abs() < 5.0 * expected.sqrt(), "s = {s}, k = {k}: {seen} of {expected}");
            }
        }
        assert_eq!(Zipf::new(3, 3, 1.0).unwrap().draw(&mut Rng::with_seed(1)), 3);
        assert!(
            Zipf::new(3, 2, 1.0).is_none() && Zipf::new(1, 2, 0.0).is_none() && Zipf::new(1, 2, f64::NAN).is_none()
        );
    }
}
