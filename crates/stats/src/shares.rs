//! Confidence intervals of shares. The interval of one share comes from E. Wilson (*Journal of the American Statistical
//! Association* 22, 1927). The interval of a difference of two shares comes from R. Newcombe (*Statistics in Medicine*
//! 17, 1998). The methods of Wilson and Newcombe are valid for shares near 0 and near 1, too.

use crate::Interval;

/// Returns Wilson's interval of a share `p` of `n` draws. `z` is the half-width of the interval in standard errors.
pub fn wilson(p: f64, n: f64, z: f64) -> Interval {
    let z2 = z * z / n;
    let (middle, half) = (p + z2 / 2.0, z * (p * (1.0 - p) / n + z2 / (4.0 * n)).sqrt());
    let low = ((middle - half) / (1.0 + z2)).max(0.0).min(p);
    Interval { low, high: ((middle + half) / (1.0 + z2)).min(1.0).max(p) }
}

/// Returns Newcombe's interval of a difference: the second share minus the first share. Each share comes with its
/// number of draws. `z` is the half-width of the interval in standard errors.
pub fn difference((a, n): (f64, f64), (b, m): (f64, f64), z: f64) -> Interval {
    let (of_a, of_b) = (wilson(a, n, z), wilson(b, m, z));
    let value = b - a;
    Interval { low: value - (b - of_b.low).hypot(of_a.high - a), high: value + (of_b.high - b).hypot(a - of_a.low) }
}

/// Returns the probability that a share is above one half, given `hits` in `draws` draws. The prior is uniform: before
/// the draws, all shares are equally likely. The result equals a probability of the binomial distribution with one more
/// draw.
pub fn chance_above_half(hits: u32, draws: u32) -> f64 {
    let all = f64::from(draws) + 1.0;
    let (mut sum, mut ln) = (0.0, -all * std::f64::consts::LN_2);
    for k in (0..=hits.min(draws)).map(f64::from) {
        sum += ln.exp();
        ln += ((all - k) / (k + 1.0)).ln();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_few_draws_is_above_half_with_the_chance_of_a_beta_distribution() {
        for (hits, draws, chance) in
            [(0, 0, 0.5), (2, 2, 0.875), (4, 4, 0.96875), (3, 4, 0.8125), (2, 4, 0.5), (0, 2, 0.125)]
        {
            assert!((chance_above_half(hits, draws) - chance).abs() < 1e-12, "{hits} of {draws}");
        }
        assert!(chance_above_half(600, 1000) > 0.999 && chance_above_half(9, 5) < 1.0);
    }

    /// Newcombe's own example: the difference between 56 of 70 and 48 of 80 has the interval 0.0524 to 0.3339 (his
    /// method 10).
    #[test]
    fn the_interval_equals_the_published_example() {
        let Interval { low, high } = difference((0.6, 80.0), (0.8, 70.0), 1.96);
        assert!((low - 0.0524).abs() < 5e-4 && (high - 0.3339).abs() < 5e-4, "{low} {high}");
    }

    #[test]
    fn zero_of_a_few_draws_has_an_interval_above_zero() {
        let none = wilson(0.0, 10.0, 1.96);
        assert!(none.low == 0.0 && (none.high - 0.2775).abs() < 1e-3, "{none:?}");
    }
}
