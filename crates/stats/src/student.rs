//! Student's t distribution, for means of few values. The degrees of freedom may be any number from 1 upwards,
//! including fractions.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::moments::{NORMAL_95, normal_tail};

/// The 97.5 % quantiles for 1 to 30 degrees of freedom.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// Maximum number of terms of the continued fraction. This number is enough for up to [`NORMAL_FREEDOM`] degrees of
/// freedom.
const MAX_TERMS: u32 = 10_000;
/// Maximum number of steps of the search for a quantile. In practice, the search for a quantile needs fewer steps.
const MAX_STEPS: u32 = 100;
/// Relative change at which the continued fraction or the quantile has converged. A smaller change would be lost in
/// rounding errors.
const CONVERGED: f64 = 1e-14;
/// Degrees of freedom above which the normal distribution is used instead.
const NORMAL_FREEDOM: f64 = 1e5;

/// Returns the 97.5 % quantile, which is the half-width of a 95 % interval in standard errors. The quantile is infinite
/// for less than one degree of freedom.
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

/// Returns the probability of a value that is at least as far from 0 as `t`, on either side. Returns 1 for less than
/// one degree of freedom.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom < 1.0 {
        return 1.0;
    }
    if freedom > NORMAL_FREEDOM {
        return 2.0 * normal_tail(t.abs());
    }
    beyond(t.abs() / freedom.sqrt(), freedom, half_beta(freedom))
}

/// Returns the `t` whose two-sided probability is `p`; infinite for less than one degree of freedom, or if `p` is not
/// between 0 and 1. Newton's method solves for the logarithm of the probability. If a step of Newton's method would
/// leave the interval that contains the solution, the interval is halved instead. With `t = sqrt(freedom) tan(x)`, the
/// density is `cos(x)` to the power of `freedom - 1`.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) || freedom.is_nan() || freedom < 1.0 {
        return f64::INFINITY;
    }
    let freedom = freedom.min(NORMAL_FREEDOM);
    let whole = half_beta(freedom);
    let (mut low, mut high, mut x) = (0.0, FRAC_PI_2, (t95(freedom) / freedom.sqrt()).atan());
    for _ in 0..MAX_STEPS {
        let left = beyond(x.tan(), freedom, whole);
        *(if left > p { &mut low } else { &mut high }) = x;
        let step = (left / p).ln() * left * whole / x.cos().powf(freedom - 1.0);
        let newton = x + step;
        let next = if low < newton && newton < high { newton } else { f64::midpoint(low, high) };
        let done = (next - x).abs() <= CONVERGED * x.min(FRAC_PI_2 - x);
        x = next;
        if done {
            break;
        }
    }
    x.tan() * freedom.sqrt()
}

/// Returns half of the beta function of `freedom / 2` and 1/2. The result is the integral of `cos(x)` to the power of
/// `freedom - 1` from 0 to π/2.
fn half_beta(freedom: f64) -> f64 {
    0.5 * (PI.sqrt().ln() + libm::lgamma(0.5 * freedom) - libm::lgamma(0.5 * (freedom + 1.0))).exp()
}

/// Returns the probability beyond `t = tangent * sqrt(freedom)` on both sides, which is the regularized incomplete beta
/// function (M. Abramowitz and I. Stegun, *Handbook of Mathematical Functions*, 26.7.1). `whole` is the result of
/// [`half_beta`].
fn beyond(tangent: f64, freedom: f64, whole: f64) -> f64 {
    let square = tangent * tangent;
    if square.is_infinite() {
        return 0.0;
    }
    let (outside, inside) = (1.0 / (1.0 + square), square / (1.0 + square));
    let half = 0.5 * freedom;
    // The continued fraction is multiplied by outside^half * inside^(1/2) / B(half, 1/2).
    let front = (-half * square.ln_1p()).exp() * inside.sqrt() / (2.0 * whole);
    // The continued fraction converges quickly only on one side of the mean of the beta distribution. On the other
    // side, the complement of the probability is computed.
    let share = if outside < (half + 1.0) / (half + 2.5) {
        front * beta_fraction(outside, half, 0.5) / half
    } else {
        1.0 - 2.0 * front * beta_fraction(inside, 0.5, half)
    };
    share.clamp(0.0, 1.0)
}

/// Returns the continued fraction of the incomplete beta function (formula 26.5.8 of Abramowitz and Stegun, with its
/// first two terms combined), by the method of W. Lentz (*Applied Optics* 15, 1976).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let (mut c, mut d) = (1.0, 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for term in (1..=MAX_TERMS).map(f64::from) {
        let twice = a + 2.0 * term;
        let even = term * (b - term) * x / ((twice - 1.0) * twice);
        let odd = -(a + term) * (a + b + term) * x / (twice * (twice + 1.0));
        for step in [even, odd] {
            d = 1.0 / not_zero(1.0 + step * d);
            c = not_zero(1.0 + step / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() <= CONVERGED {
            break;
        }
    }
    fraction
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
        // The first tested p-value is close to the smallest that the function for the tail of the normal distribution
        // can return. With one degree of freedom, the p-value has a simple formula, with which the test compares the
        // result.
        let far = quantile(1e-300, f64::INFINITY);
        assert!((37.0..38.0).contains(&far), "{far}");
        for t in [1e-3, 0.7, 40.0, 1e6] {
            let p = 2.0 / PI * f64::atan(1.0 / t);
            assert!((two_sided(t, 1.0) - p).abs() < 1e-12 && (quantile(p, 1.0) / t - 1.0).abs() < 1e-9, "{t}");
        }
    }
}
