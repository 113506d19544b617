//! Student's t distribution, for means of few values. The degrees of freedom may be any number from 1 on, also
//! fractional.

use std::f64::consts::FRAC_PI_2;

use crate::moments::{NORMAL_95, normal_tail};

/// The 97.5 % quantiles for 1 to 30 degrees of freedom.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// Number of steps of a numerical integral. More steps do not change the first six digits.
const PARTS: u32 = 2000;
/// Number of Newton steps of a quantile. More steps do not change the first six digits.
const NEWTON_STEPS: u32 = 24;
/// Degrees of freedom above which the normal distribution is used instead.
const NORMAL_FREEDOM: f64 = 1e5;

/// Returns the 97.5 % quantile, which is the half-width of a 95 % interval in standard errors. The quantile is infinite
/// below one degree of freedom.
pub fn t95(freedom: f64) -> f64 {
    let most = T95.len() as f64;
    if freedom.is_nan() || freedom < 1.0 {
        return f64::INFINITY;
    }
    if freedom >= most {
        return NORMAL_95 + (T95[T95.len() - 1] - NORMAL_95) * most / freedom;
    }
    // Between two whole numbers, the quantile is nearly linear in the reciprocal of the degrees of freedom.
    let whole = freedom.floor();
    let share = (1.0 / whole - 1.0 / freedom) / (1.0 / whole - 1.0 / (whole + 1.0));
    let [below, above] = [T95[whole as usize - 1], T95[whole as usize]];
    below + share * (above - below)
}

/// Returns the probability that a value of this distribution is at least as far from 0 as `t`, on either side. With `t
/// = sqrt(freedom) tan(x)`, the density is `cos(x)` to the power of `freedom - 1`.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom < 1.0 {
        return 1.0;
    }
    if freedom > NORMAL_FREEDOM {
        return 2.0 * normal_tail(t.abs());
    }
    let from = (t.abs() / freedom.sqrt()).atan();
    (integral(from, freedom - 1.0) / integral(0.0, freedom - 1.0)).clamp(0.0, 1.0)
}

/// Returns the `t` whose two-sided probability is `p`; infinite below one degree of freedom. Newton's method on the
/// logarithm of the probability converges from the far side, since that logarithm is concave.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) || freedom.is_nan() || freedom < 1.0 {
        return f64::INFINITY;
    }
    let freedom = freedom.min(NORMAL_FREEDOM);
    let (whole, power) = (integral(0.0, freedom - 1.0), freedom - 1.0);
    let mut x = (t95(freedom) / freedom.sqrt()).atan();
    for _ in 0..NEWTON_STEPS {
        let left = integral(x, power);
        let step = (left / whole / p).ln() * left / x.cos().powf(power);
        x = (x + step).clamp(0.0, f64::midpoint(x, FRAC_PI_2));
    }
    x.tan() * freedom.sqrt()
}

/// Integrates `cos(x)` to a power from `from` to π/2 by Simpson's rule. With a large power, the mass lies near 0.
fn integral(from: f64, power: f64) -> f64 {
    let width = (FRAC_PI_2 - from).min(40.0 / (power + 1.0).sqrt());
    let step = width / f64::from(PARTS);
    let at = |part: u32| (from + step * f64::from(part)).cos().max(0.0).powf(power);
    let inner: f64 = (1..PARTS).map(|part| at(part) * if part % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (at(0) + inner + at(PARTS)) * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values from published tables of the distribution.
    #[test]
    fn the_distribution_equals_published_tables() {
        for (freedom, t) in [(1.0, 12.706), (2.0, 4.303), (4.5, 2.664), (10.0, 2.228), (60.0, 2.000), (1e4, 1.960)] {
            assert!((t95(freedom) / t - 1.0).abs() < 5e-3, "{freedom}: {}", t95(freedom));
            assert!((two_sided(t, freedom) - 0.05).abs() < 5e-4, "{freedom}: {}", two_sided(t, freedom));
        }
        assert!(t95(0.0).is_infinite() && t95(f64::NAN).is_infinite() && (t95(f64::INFINITY) - 1.96).abs() < 1e-9);
        for (t, freedom, p) in [(2.0, 5.0, 0.101_939), (5.0, 12.0, 0.000_309_3), (0.0, 3.0, 1.0), (60.0, 4.0, 4.621e-7)]
        {
            let ours = two_sided(t, freedom);
            assert!((ours / p - 1.0).abs() < 0.01, "{t} {freedom}: {ours}");
        }
        assert!((two_sided(1.959_964, f64::INFINITY) - 0.05).abs() < 1e-5);
        assert_eq!((two_sided(f64::NAN, 4.0), two_sided(3.0, 0.0)), (1.0, 1.0));
        assert!(two_sided(f64::INFINITY, 4.0) < 1e-12);
    }

    #[test]
    fn the_quantile_inverts_the_probability() {
        for freedom in [1.0, 1.7, 2.0, 4.5, 22.0, 1e3, f64::INFINITY] {
            for p in [0.5, 0.05, 0.05 / 7.0, 1e-3, 1e-6] {
                let t = quantile(p, freedom);
                assert!((two_sided(t, freedom) / p - 1.0).abs() < 3e-3, "{p} {freedom}: {t}");
            }
        }
        assert!(quantile(0.05, 0.5).is_infinite() && quantile(0.0, 5.0).is_infinite());
    }
}
