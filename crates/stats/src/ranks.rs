//! Two-sided rank tests. One compares two sides within conditions (Wilcoxon 1945, Mann and Whitney 1947, van Elteren
//! 1960), the other tests differences between conditions (Wilcoxon's signed ranks). The tests are exact for differences
//! and for a single condition, if there are few values and no two are equal. Otherwise they use the normal
//! approximation with midranks and a continuity correction.

use crate::moments::normal_tail;

/// Maximum number of values of a side, or of differences, for which the exact distribution is used.
const MAX_EXACT: usize = 40;

/// Result of a rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Probability that the ranks of two equal sides differ at least this much.
    pub p: f64,
    /// Minimum of `p` for this number of values, which sides without overlap have.
    pub least_p: f64,
    /// Sign of the difference: positive if the new values are larger.
    pub sign: f64,
}

/// Compares old with new values within each condition. Returns `None` if no condition has values on both sides.
pub fn within(conditions: &[[Vec<f64>; 2]]) -> Option<Ranks> {
    let strata: Vec<Stratum> = conditions.iter().filter_map(|[a, b]| Stratum::of(a, b)).collect();
    if let [one] = &strata[..]
        && let Some(exact) = one.exact()
    {
        return Some(exact);
    }
    let weighted = |of: fn(&Stratum) -> f64| strata.iter().map(|s| s.weight() * of(s)).sum::<f64>();
    let (off, most) = (weighted(|s| s.u - s.n * s.m / 2.0), weighted(|s| s.n * s.m / 2.0));
    let variance: f64 = strata.iter().map(|s| s.weight().powi(2) * s.variance()).sum();
    let half = strata.iter().map(|s| 0.5 * s.weight()).fold(0.0, f64::max);
    (!strata.is_empty()).then(|| by_normal(off, most, half, variance))
}

/// Tests differences (new minus old, one per condition). Returns `None` if all are 0.
pub fn signed(apart: &[f64]) -> Option<Ranks> {
    let all: Vec<f64> = apart.iter().copied().filter(|d| d.is_finite() && *d != 0.0).collect();
    let (ranks, ties) = midranks(&all.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let n = all.len() as f64;
    let above: f64 = all.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let most = n * (n + 1.0) / 2.0;
    match all.len() {
        0 => None,
        1..=MAX_EXACT if ties == 0.0 => Some(exact(above, most, &sums(all.len()))),
        _ => {
            let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
            Some(by_normal(above - most / 2.0, most / 2.0, 0.5, variance))
        }
    }
}

/// Both sides of one condition.
struct Stratum {
    n: f64,
    m: f64,
    /// Number of pairs in which the new value is larger. Equal pairs count half.
    u: f64,
    /// Sum of `k³ - k` over groups of `k` equal values.
    ties: f64,
}

impl Stratum {
    fn of(old: &[f64], new: &[f64]) -> Option<Self> {
        let finite = |v: &[f64]| v.iter().copied().filter(|v| v.is_finite()).collect::<Vec<f64>>();
        let (old, new) = (finite(old), finite(new));
        let (n, m) = (old.len() as f64, new.len() as f64);
        let (ranks, ties) = midranks(&[&new[..], &old[..]].concat());
        let u = ranks[..new.len()].iter().sum::<f64>() - m * (m + 1.0) / 2.0;
        (n > 0.0 && m > 0.0).then_some(Self { n, m, u, ties })
    }

    fn weight(&self) -> f64 {
        1.0 / (self.n + self.m + 1.0)
    }

    fn variance(&self) -> f64 {
        let all = self.n + self.m;
        self.n * self.m / 12.0 * (all + 1.0 - self.ties / (all * (all - 1.0)))
    }

    fn exact(&self) -> Option<Ranks> {
        let few = self.ties == 0.0 && self.n.max(self.m) <= MAX_EXACT as f64;
        few.then(|| exact(self.u, self.n * self.m, &choices(self.n as usize, self.m as usize)))
    }
}

/// Returns the exact result. `ways` has the number of ways to reach each sum from 0 on.
fn exact(sum: f64, most: f64, ways: &[f64]) -> Ranks {
    let all: f64 = ways.iter().sum();
    let up_to = |sum: f64| ways.iter().take(sum as usize + 1).sum::<f64>() / all;
    let sign = (sum - most / 2.0).signum() * f64::from(u8::from(sum != most / 2.0));
    Ranks { p: (2.0 * up_to(sum.min(most - sum))).min(1.0), least_p: (2.0 * up_to(0.0)).min(1.0), sign }
}

fn by_normal(off: f64, most: f64, half: f64, variance: f64) -> Ranks {
    let p = |off: f64| match variance > 0.0 {
        true => (2.0 * normal_tail((off.abs() - half).max(0.0) / variance.sqrt())).min(1.0),
        false => 1.0,
    };
    Ranks { p: p(off), least_p: p(most), sign: off.signum() * f64::from(u8::from(off != 0.0)) }
}

/// Returns ranks from 1 on, and the sum of `k³ - k` over groups of `k` equal values. Equal values have the mean of
/// their ranks.
fn midranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let (mut ranks, mut ties, mut before) = (vec![0.0; values.len()], 0.0, 0.0);
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let same = group.len() as f64;
        group.iter().for_each(|at| ranks[*at] = before + f64::midpoint(1.0, same));
        ties += same.powi(3) - same;
        before += same;
    }
    (ranks, ties)
}

/// Returns, for each number of pairs, the number of ways in which `n` of `n + m` values exceed the others in that many
/// pairs. These are the coefficients of the Gaussian binomial.
fn choices(n: usize, m: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        (m + i..ways.len()).rev().for_each(|at| ways[at] -= ways[at - m - i]);
        (i..ways.len()).for_each(|at| ways[at] += ways[at - i]);
    }
    ways
}

/// Returns, for each sum, the number of ways in which the ranks 1 to `n` with a positive sign have this sum.
fn sums(n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * (n + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        (rank..ways.len()).rev().for_each(|at| ways[at] += ways[at - rank]);
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &[f64], new: &[f64]) -> Ranks {
        within(&[[old.to_vec(), new.to_vec()]]).unwrap()
    }

    #[test]
    fn only_sides_without_overlap_differ() {
        let (low, high): (Vec<f64>, Vec<f64>) = ((0..10).map(f64::from).collect(), (10..20).map(f64::from).collect());
        let apart = of(&low, &high);
        // Two of the 184,756 ways to choose ten of twenty values.
        assert!((apart.p - 2.0 / 184_756.0).abs() < 1e-9 && apart.p == apart.least_p && apart.sign == 1.0, "{apart:?}");
        assert!(of(&low, &low).p > 0.999 && of(&[1.0; 8], &[1.0; 8]).p > 0.999);
        assert!((of(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).p - 0.1).abs() < 1e-12);
        // Table of Mann and Whitney: for 5 and 6 values, U = 3 has p = 0.0303.
        let (old, new) = ([1.0, 2.0, 3.0, 4.0, 8.0], [5.0, 6.0, 7.0, 9.0, 10.0, 11.0]);
        assert!((of(&old, &new).p - 0.030_303).abs() < 1e-5, "{:?}", of(&old, &new));
        assert_eq!(within(&[[vec![], vec![1.0]]]), None);
    }

    #[test]
    fn signed_ranks_have_the_exact_probabilities() {
        let all_up = signed(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((all_up.p, all_up.least_p, all_up.sign), (0.0625, 0.0625, 1.0));
        let mixed = signed(&[-1.0, 2.0, -3.0, 4.0]).unwrap();
        assert!((mixed.p - 0.875).abs() < 1e-12 && mixed.sign == 1.0, "{mixed:?}");
        assert_eq!(signed(&[0.0]), None);
    }

    /// For equal servers, p is below 5 % in 5 % of the draws, in one condition and in several.
    #[test]
    fn p_values_are_calibrated() {
        let mut random = fastrand::Rng::with_seed(11);
        for sizes in [&[(7, 7)][..], &[(2, 2); 8], &[(5, 3), (20, 20), (4, 4)], &[(60, 50)]] {
            let told = (0..2000).filter(|_| {
                let mut some = |n: usize| (0..n).map(|_| random.f64()).collect::<Vec<f64>>();
                let drawn: Vec<_> = sizes.iter().map(|(n, m)| [some(*n), some(*m)]).collect();
                within(&drawn).unwrap().p <= 0.05
            });
            let told = told.count();
            assert!((40..=135).contains(&told), "{sizes:?}: {told} of 2000");
        }
        let told =
            (0..2000).filter(|_| signed(&(0..10).map(|_| random.f64() - 0.5).collect::<Vec<_>>()).unwrap().p <= 0.05);
        let told = told.count();
        assert!((50..=135).contains(&told), "{told} of 2000");
    }
}
